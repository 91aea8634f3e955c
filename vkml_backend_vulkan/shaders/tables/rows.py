"""What rows.glsl has functions for, by dtype token, and the frame of kernels for whole rows."""

from __future__ import annotations

from typing import Final

from vkml_backend_vulkan.shaders.table import Module

_WORDS: Final = ("f32", "f16", "i32")
REDUCED: Final = {"sum": _WORDS, "amax": _WORDS, "amin": _WORDS}
"""Reductions of rows."""
GATHERED: Final = _WORDS
SCATTERED: Final = _WORDS
INDICES: Final = ("i32", "i64")
STORED: Final = ("f32", "i32", "i64")
"""Dtypes of which single elements are stored; of all dtypes, quads are."""
MODULES: Final = {"fused.rows": Module("rows.comp", linked=True)}

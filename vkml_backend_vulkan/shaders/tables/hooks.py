"""Frames of fused heads: modules of other tables whose float32 results go to a hook."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from vkml_backend_vulkan.shaders.table import Module
from vkml_backend_vulkan.shaders.tables import conv, matmul, pool, reduce

_ALL: Final = matmul.MODULES | conv.MODULES | pool.MODULES | reduce.MODULES
HOOKED: Final = (
    *("matmul.f32", "matmul.tile", f"matmul.tile{conv.FOURS}"),
    *("matmul.slices", "matmul.slices.many"),
    *(f"conv.{op}.{kernel}" for op in conv.TILED for kernel in ("f32", "tile")),
    *(f"conv.{op}.tile{conv.FOURS}" for op in conv.IMAGES),
    *pool.HOOKED,
    *(f"reduce.{op}.f32{end}" for op in reduce.REDUCTIONS for end in ("", reduce.REST)),
    *(f"reduce.{op}.f32{reduce.QUADS}" for op, token in sorted(reduce.IN_QUADS) if token == "f32"),
)
"""Modules that have a frame of their own, called the same with HOOK after it."""
HOOK: Final = ".hook"
MODULES: Final[dict[str, Module]] = {
    name + HOOK: replace(_ALL[name], defines=_ALL[name].defines | {"HOOK": "1"}, linked=True)
    for name in HOOKED
}

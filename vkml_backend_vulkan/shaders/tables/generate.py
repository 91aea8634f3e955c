"""Modules that make tensors from two numbers."""

from __future__ import annotations

from typing import Final

from vkml_backend_vulkan.shaders.table import Module

MODULES: Final[dict[str, Module]] = {
    "generate.arange.i64": Module("arange.comp"),
    "generate.random_bits.i32": Module("random_bits.comp"),
}

"""Conversion modules: the GLSL expression from each dtype to each other (rule 6)."""

from __future__ import annotations

from typing import Final

from vkml_backend_vulkan.shaders.table import Module
from vkml_backend_vulkan.shaders.tables.elementwise import VALUE, kernel

_FLOAT: Final = {
    "f32": "a",
    "f16": "a",
    "i32": "i32_from_f32(a)",
    "i64": "i64_from_f32(a)",
    "b8": "!is_zero(a)",
}
EXPRESSIONS: Final[dict[str, dict[str, str]]] = {
    "f32": _FLOAT,
    "f16": _FLOAT,
    "i32": {
        "f32": "f32_from_i32(a)",
        "f16": "f32_from_i32(a)",
        "i32": "a",
        "i64": "i64_from_i32(a)",
        "b8": "a != 0u",
    },
    "i64": {
        "f32": "f32_from_i64(a)",
        "f16": "f32_from_i64(a)",
        "i32": "a.x",
        "i64": "a",
        "b8": "a != uvec2(0u)",
    },
    "b8": {
        "f32": "a ? 0x3f800000u : 0u",
        "f16": "a ? 0x3f800000u : 0u",
        "i32": "uint(a)",
        "i64": "uvec2(uint(a), 0u)",
        "b8": "a",
    },
}
MODULES: Final[dict[str, Module]] = {
    f"cast.{source}.{to}": kernel(EXPRESSIONS[source][to], [source], to)
    for source in VALUE
    for to in VALUE
}

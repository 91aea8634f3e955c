"""The rows of the shader tables: a template and what is defined in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from vkml_core import dtypes
from vkml_core.dtypes import DType

TOKENS: Final[dict[DType, str]] = {
    dtypes.float32: "f32",
    dtypes.float16: "f16",
    dtypes.int32: "i32",
    dtypes.int64: "i64",
    dtypes.bool_: "b8",
}
"""How module names and templates call a dtype."""


@dataclass(frozen=True, slots=True)
class Module:
    """One SPIR-V module: a template in this directory and its preprocessor definitions."""

    template: str
    defines: dict[str, str] = field(default_factory=dict)
    code: str = ""
    """GLSL after the template's."""
    linked: bool = False
    """Whether fused modules are linked from it: all its functions stay, with their names."""

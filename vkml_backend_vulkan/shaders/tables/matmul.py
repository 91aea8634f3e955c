"""Modules of the matrix product."""

from __future__ import annotations

from typing import Final

from vkml_backend_vulkan.shaders.table import Module
from vkml_backend_vulkan.shaders.tables.conv import FOURS

MODULES: Final[dict[str, Module]] = {
    f"matmul.{t}": Module("matmul.comp", {f"DTYPE_{t.upper()}": "1"})
    for t in ("f32", "f16", "i32", "i64")
} | {
    "matmul.tile": Module("matmul_tile.comp"),
    f"matmul.tile{FOURS}": Module("matmul_tile.comp", {"FOURS": "1"}),
    "matmul.slices": Module("matmul_slices.comp"),
    "matmul.slices.many": Module("matmul_many_slices.comp"),
}

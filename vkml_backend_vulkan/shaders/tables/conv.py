"""Modules of the convolutions and of columns."""

from __future__ import annotations

from typing import Final

from vkml_backend_vulkan.shaders.table import Module

OPS: Final = ("conv2d", "conv2d_input_grad", "conv2d_weight_grad", "im2col", "col2im")
TILED: Final = OPS[:3]
"""Also computed by tiles, in float32."""

MODULES: Final[dict[str, Module]] = {
    f"conv.{op}.{t}": Module(f"{op}.comp", {f"DTYPE_{t.upper()}": "1"})
    for op in OPS
    for t in ("f32", "f16")
} | {f"conv.{op}.tile": Module(f"{op}_tile.comp") for op in TILED}

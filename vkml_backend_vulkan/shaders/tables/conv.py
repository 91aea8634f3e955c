"""Modules of the convolutions and of columns."""

from __future__ import annotations

from typing import Final

from vkml_backend_vulkan.shaders.table import Module

OPS: Final = ("conv2d", "conv2d_input_grad", "conv2d_weight_grad", "im2col", "col2im")
TILED: Final = OPS[:3]
"""Also computed by tiles, in float32."""
IMAGES: Final = TILED[:2]
"""Those whose results are images."""
FOURS: Final = ".fours"
"""The end of the name of a kernel that writes four results side by side."""

MODULES: Final[dict[str, Module]] = {
    f"conv.{op}.{t}": Module(f"{op}.comp", {f"DTYPE_{t.upper()}": "1"})
    for op in OPS
    for t in ("f32", "f16")
} | {
    f"conv.{op}.tile{end}": Module(f"{op}_tile.comp", dict.fromkeys(flags, "1"))
    for op in TILED
    for end, flags in (("", ()), (FOURS, ("FOURS",)))
    if op in IMAGES or not end
}

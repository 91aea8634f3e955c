"""Modules of pooling over windows."""

from __future__ import annotations

from typing import Final

from vkml_backend_vulkan.shaders.table import Module

MODULES: Final[dict[str, Module]] = {
    f"pool.{op}.{t}": Module(f"{op}.comp", {f"DTYPE_{t.upper()}": "1"})
    for op in ("max_pool2d", "avg_pool2d", "max_unpool2d")
    for t in ("f32", "f16")
} | {
    f"pool.max_pool2d_indices.{t}": Module(
        "max_pool2d.comp", {f"DTYPE_{t.upper()}": "1", "PLACE": "1"}
    )
    for t in ("f32", "f16", "i32", "i64")
}

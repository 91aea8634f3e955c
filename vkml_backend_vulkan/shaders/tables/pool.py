"""Modules of pooling over windows."""

from __future__ import annotations

from typing import Final

from vkml_backend_vulkan.shaders.table import Module

_FLOATS: Final = ("f32", "f16")
QUADS: Final = ".quads"
"""The end of the name of a kernel that has four results side by side at a time."""
HOOKED: Final = (
    *("pool.max_pool2d.f32", "pool.avg_pool2d.f32", "pool.max_pool2d_input_grad.f32"),
    *(f"pool.{op}.f32{QUADS}" for op in ("max_pool2d", "max_pool2d_input_grad")),
)
"""Modules that have a frame."""


def _module(template: str, token: str, *flags: str) -> Module:
    return Module(f"{template}.comp", dict.fromkeys((f"DTYPE_{token.upper()}", *flags), "1"))


MODULES: Final[dict[str, Module]] = {
    **{
        f"pool.{op}.{t}": _module(op, t)
        for op in ("max_pool2d", "avg_pool2d", "max_pool2d_input_grad")
        for t in _FLOATS
    },
    **{
        f"pool.{op}.f32{QUADS}": _module(f"{op}_quads", "f32")
        for op in ("max_pool2d", "max_pool2d_input_grad")
    },
    **{f"pool.max_pool2d_winners.{t}": _module("max_pool2d", t, "PLACE", "WORDS") for t in _FLOATS},
    **{
        f"pool.max_pool2d_indices.{t}": _module("max_pool2d", t, "PLACE")
        for t in (*_FLOATS, "i32", "i64")
    },
}

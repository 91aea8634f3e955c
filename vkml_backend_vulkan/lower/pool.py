"""Lowerings of pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vkml_backend_vulkan.dispatch import Limits, Lower, Lowered, Pointer
from vkml_backend_vulkan.lower import pool_gradient
from vkml_backend_vulkan.lower.conv import window, windows
from vkml_backend_vulkan.lower.indexing import Lines, scatter
from vkml_backend_vulkan.lower.launch import read
from vkml_backend_vulkan.lower.layout import only_call, operands
from vkml_backend_vulkan.lower.pool_quads import apart_in_pairs, lies_flat, quads
from vkml_core.dtypes import float32
from vkml_core.plan import Slot, Step
from vkml_core.shapes import size

_AT_A_TIME: Final = 4
"""Windows that an invocation of max_pool2d takes, where they lie side by side."""


def lower(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Lower a step over windows of images."""
    return _LOWER[only_call(step).op](step, slots, limits)


def pool(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Give the largest element of each window, its place, or the mean."""
    call, image = only_call(step), operands(step)[0].view.shape
    geometry = window(call.attrs, image[2:], call.attrs.kernel)
    return windows(f"pool.{call.op}", step, slots, limits, geometry, image)


def max_pool2d(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Give the largest element of each window: of four at a time where they lie side by side."""
    call, x = only_call(step), read(step, 0, slots)
    flat = apart_in_pairs(call.attrs, x.shape, _AT_A_TIME) and lies_flat(x, _AT_A_TIME)
    if not flat or call.dtype is not float32 or not size(call.shape):
        return pool(step, slots, limits)
    return quads(call, x.shape, _AT_A_TIME, (x,), Pointer(step.write, 0), limits)


def max_unpool2d(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Add window values at their places: targets (1, N, C, H·W), sources over (oy, ox)."""
    shape = only_call(step).shape
    extents = (1, *shape[:2], size(shape[2:]))
    return scatter(step, slots, limits, Lines(extents, 3, (None, 0, 1, None), (2, 3)))


_LOWER: Final[dict[str, Lower]] = {
    "max_pool2d": max_pool2d,
    "max_pool2d_indices": pool,
    "max_pool2d_input_grad": pool_gradient.lower,
    "avg_pool2d": pool,
    "max_unpool2d": max_unpool2d,
}
OPS: Final = frozenset(_LOWER)

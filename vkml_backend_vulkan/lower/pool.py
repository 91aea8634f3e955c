"""Lowerings of pooling."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vkml_backend_vulkan.dispatch import Limits, Lower, Lowered
from vkml_backend_vulkan.lower import unpool
from vkml_backend_vulkan.lower.conv import window, windows
from vkml_backend_vulkan.lower.indexing import Lines, scatter
from vkml_backend_vulkan.lower.layout import only_call, operands
from vkml_core.plan import Slot, Step
from vkml_core.shapes import size


def lower(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Lower a step over windows of images."""
    return _LOWER[only_call(step).op](step, slots, limits)


def pool(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Give the largest element of each window, its place, or the mean."""
    call, image = only_call(step), operands(step)[0].view.shape
    geometry = window(call.attrs, image[2:], call.attrs.kernel)
    return windows(f"pool.{call.op}", step, slots, limits, geometry, image)


def max_unpool2d(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Add window values at their places: targets (1, N, C, H·W), sources over (oy, ox)."""
    if unpool.is_known(only_call(step)):
        return unpool.lower(step, slots, limits)
    shape = only_call(step).shape
    extents = (1, *shape[:2], size(shape[2:]))
    return scatter(step, slots, limits, Lines(extents, 3, (None, 0, 1, None), (2, 3)))


_LOWER: Final[dict[str, Lower]] = {
    "max_pool2d": pool,
    "max_pool2d_indices": pool,
    "avg_pool2d": pool,
    "max_unpool2d": max_unpool2d,
}
OPS: Final = frozenset(_LOWER)

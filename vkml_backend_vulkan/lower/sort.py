"""Lowering of argsort."""

from __future__ import annotations

from collections.abc import Sequence

from vkml_backend_vulkan.dispatch import Limits, Lowered, Pointer
from vkml_backend_vulkan.lower.launch import each_output, read
from vkml_backend_vulkan.lower.layout import only_call, operands, pack, token
from vkml_core.plan import Slot, Step
from vkml_core.shapes import MAX_RANK, contiguous_strides, size


def lower(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Rank every element of each line along the axis."""
    x, call = read(step, 0, slots), only_call(step)
    axis = MAX_RANK - len(call.shape) + call.attrs.axis
    count, along = size(call.shape), contiguous_strides(x.shape)[axis]
    push = pack(
        *(*x.without(axis), x.strides[axis], count, *x.shape),
        *(along, x.shape[axis], int(call.attrs.descending)),
    )
    pointers = (x.pointer, Pointer(step.write, 0))
    module = f"sort.argsort.{token(slots, operands(step)[0])}"
    return Lowered(each_output(module, count, pointers, push, limits, "i64"))

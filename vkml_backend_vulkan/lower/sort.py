"""Lowering of argsort: runs sorted by counting, then merged in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vkml_backend_vulkan.dispatch import Dispatch, Limits, Lowered, Pointer
from vkml_backend_vulkan.lower.launch import each_output, read
from vkml_backend_vulkan.lower.layout import only_call, operands, pack, padded, token
from vkml_core.plan import Slot, Step
from vkml_core.shapes import MAX_RANK, contiguous_strides, size

RUN: Final = 512
"""Elements that are sorted by counting, each by looking at all of its run."""
_INDEX_BYTES: Final = 8


def lower(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Sort the runs of each line along the axis, then merge until a line is one run."""
    x, call = read(step, 0, slots), only_call(step)
    axis = MAX_RANK - len(call.shape) + call.attrs.axis
    count, length = size(call.shape), x.shape[axis]
    shared = (
        *(*x.without(axis), x.strides[axis], count, *x.shape),
        *(contiguous_strides(x.shape)[axis], length, int(call.attrs.descending)),
    )
    runs = runs_of(length)
    # Result and scratch take turns, so that the last pass writes the result.
    targets = [Pointer(step.write, 0), Pointer(~0, 0)]
    made: list[Dispatch] = []
    for i, run in enumerate((RUN, *runs)):
        to, source = targets[(len(runs) - i) % 2], targets[(len(runs) - i + 1) % 2]
        module = f"sort.{'merge' if i else 'argsort'}.{token(slots, operands(step)[0])}"
        pointers = (x.pointer, source if i else x.pointer, to)
        made += each_output(module, count, pointers, pack(*shared, run), limits, "i64")
    return Lowered(tuple(made), (padded(_INDEX_BYTES * count),) if runs else ())


def runs_of(length: int) -> list[int]:
    """List the length of the runs that each pass over a line merges."""
    runs = []
    run = RUN
    while run < length:
        runs.append(run)
        run *= 2
    return runs

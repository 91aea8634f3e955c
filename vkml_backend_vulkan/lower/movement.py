"""Steps that move elements: copies, pad and cat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vkml_backend_vulkan.dispatch import Dispatch, Limits, Lower, Lowered, Pointer
from vkml_backend_vulkan.lower.elementwise import QUAD, launch
from vkml_backend_vulkan.lower.layout import (
    grid,
    local_size,
    only_call,
    operands,
    pack,
    to_rank_4,
    token,
)
from vkml_core.plan import Operand, Slot, Step
from vkml_core.shapes import Shape, size

FILL, KEEP = 0, 1
"""What the place template writes where the source has no element."""


def lower(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Lower a step that moves elements."""
    return _LOWER[only_call(step).op](step, slots, limits)


def _contiguous(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    (source,) = operands(step)
    name = token(slots, source)
    return Lowered(
        launch(
            f"cast.{name}.{name}",
            only_call(step).shape,
            Pointer(step.write, 0),
            [(Pointer(source.slot, 0), source.view)],
            limits,
        )
    )


def _pad(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    call = only_call(step)
    source, value = operands(step)
    at = _Place(call.attrs.low, tuple(i + 1 for i in call.attrs.interior), 0, size(call.shape))
    module = f"movement.place.{token(slots, source)}"
    return Lowered(_place(module, step, source, value, at, limits))


def _cat(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Place one input after another. A word may belong to two inputs, and then both write it."""
    call = only_call(step)
    axis, rank = call.attrs.axis, len(call.shape)
    inner = size(call.shape[axis + 1 :])
    in_one_piece = size(call.shape[:axis]) == 1
    dispatches: list[Dispatch] = []
    start = 0
    for source in operands(step):
        end = start + source.view.shape[axis]
        low = tuple(start if k == axis else 0 for k in range(rank))
        touched = (start * inner, end * inner) if in_one_piece else (0, size(call.shape))
        if size(source.view.shape):
            module = f"movement.place.{token(slots, source)}"
            at = _Place(low, (1,) * rank, *touched)
            dispatches += _place(module, step, source, None, at, limits)
        start = end
    return Lowered(tuple(dispatches))


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a source goes: element i of an axis to low + i · step; results `first` to `end` − 1
    are all that may change.
    """

    low: Shape
    step: Shape
    first: int
    end: int


def _place(
    module: str, step: Step, source: Operand, value: Operand | None, at: _Place, limits: Limits
) -> tuple[Dispatch, ...]:
    """Give the dispatch that places a source; without a value the other results stay."""
    shape, view, local = only_call(step).shape, source.view, local_size(limits)
    first = at.first // QUAD * QUAD
    if first == at.end:
        return ()
    result = Pointer(step.write, 0)
    fill = result if value is None else Pointer(value.slot, 0)
    push = pack(
        *(first, at.end, size(shape)),
        *(*to_rank_4(shape, 1), *to_rank_4(view.shape, 1)),
        *(*to_rank_4(at.low, 0), *to_rank_4(at.step, 1), *to_rank_4(view.strides, 0)),
        *(view.offset, 0 if value is None else value.view.offset),
    )
    groups = grid(-(-(at.end - first) // QUAD), local, limits)
    pointers = (result, Pointer(source.slot, 0), fill)
    return (Dispatch(module, groups, pointers, push, (local, 0, KEEP if value is None else FILL)),)


_LOWER: Final[dict[str, Lower]] = {"contiguous": _contiguous, "pad": _pad, "cat": _cat}
OPS: Final = frozenset(_LOWER)

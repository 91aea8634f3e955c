"""Lowerings of reading and adding at indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vkml_backend_vulkan.dispatch import Dispatch, Limits, Lower, Lowered, Pointer
from vkml_backend_vulkan.lower.checks import Check, check_of
from vkml_backend_vulkan.lower.launch import (
    ERROR_POINTER,
    Read,
    each_output,
    read,
    read_operand,
)
from vkml_backend_vulkan.lower.layout import only_call, pack, padded, to_rank_4
from vkml_backend_vulkan.shaders.table import TOKENS
from vkml_core.plan import Operand, Slot, Step
from vkml_core.shapes import MAX_RANK, Shape, contiguous_strides, size

SHORT_LINE: Final = 16
"""Sources in a line up to which every target looks at all of them."""
SPAN_BYTES: Final = 8


def lower(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Lower a step that reads or adds at indices."""
    return _LOWER[only_call(step).op](step, slots, limits)


def _axis(step: Step) -> int:
    """Give the axis of the call, counted at rank 4."""
    call = only_call(step)
    axis: int = call.attrs.axis
    return MAX_RANK - len(call.shape) + axis


def gather(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Pick elements along an axis; an index outside it is reported, here or by another kernel."""
    x, index, call, axis = read(step, 0, slots), read(step, 1, slots), only_call(step), _axis(step)
    count, token, kind = size(call.shape), TOKENS[call.dtype], _token(index, slots)
    where = check_of(call)
    push = pack(
        *(*x.without(axis), x.strides[axis], *index.without()),
        *(count, *to_rank_4(call.shape, 1), x.shape[axis]),
    )
    ending, errors = _reporting(where is Check.HERE)
    pointers = (x.pointer, index.pointer, Pointer(step.write, 0), *errors)
    module = f"index.gather.{token}.{kind}{ending}"
    picking = each_output(module, count, pointers, push, limits, token)
    apart = _check(index, kind, x.shape[axis], limits) if where is Check.APART else ()
    return Lowered((*apart, *picking))


def scatter_add(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Add sources at indices along an axis of zeros."""
    axis = _axis(step)
    across = tuple(None if i == axis else i for i in range(MAX_RANK))
    lines = Lines(to_rank_4(only_call(step).shape, 1), axis, across, (axis,))
    return scatter(step, slots, limits, lines)


@dataclass(frozen=True, slots=True)
class Lines:
    """Where the sources of a target lie: all numbers are axes of tensors of rank 4."""

    extents: Shape
    """The result's."""
    axis: int
    """The result's axis that indices name."""
    across: tuple[int | None, ...]
    """For each axis of the result the operands' axis that goes with it."""
    along: tuple[int, ...]
    """The operands' axes over which the sources of a target are counted: one or two."""

    def reached(self, source: Read) -> tuple[int, ...]:
        """Give offset and strides of an operand along the result's axes and the two loops."""
        across = (0 if i is None else source.strides[i] for i in self.across)
        loops = (*(0,) * (2 - len(self.along)), *(source.strides[i] for i in self.along))
        return (source.offset, *across, *loops)

    def loops(self, source: Read) -> tuple[int, ...]:
        """Give the sizes of the two loops."""
        return (*(1,) * (2 - len(self.along)), *(source.shape[i] for i in self.along))

    def targets(self) -> tuple[int, ...]:
        """Give the result's strides along the operands' axes, then along the named axis."""
        strides, found = contiguous_strides(self.extents), [0] * MAX_RANK
        for i, source in enumerate(self.across):
            if source is not None:
                found[source] = strides[i]
        return (*found, strides[self.axis])

    def numbers(self, source: Read) -> tuple[int, ...]:
        """Give the strides along the operands' axes of a source's number in its line."""
        found, step = [0] * MAX_RANK, 1
        for i in reversed(self.along):
            found[i], step = step, step * source.shape[i]
        return tuple(found)


def scatter(step: Step, slots: Sequence[Slot], limits: Limits, lines: Lines) -> Lowered:
    """Check the indices where no earlier step does, and add up each target.

    Long lines are not searched from end to end: a pass over the indices first marks which part
    of its line each target has to look at.
    """
    x, index, call = read(step, 0, slots), read(step, 1, slots), only_call(step)
    count, token, kind = size(lines.extents), TOKENS[call.dtype], _token(index, slots)
    loops = lines.loops(index)
    marked = count > 0 and size(loops) > SHORT_LINE
    spans = (Pointer(~0, 0),) if marked else ()
    pointers = (x.pointer, index.pointer, Pointer(step.write, 0), *spans)
    geometry = (*lines.reached(x), *lines.reached(index), *loops, count, *lines.extents)
    module = f"index.scatter_add.{token}.{kind}{'.spans' if marked else ''}"
    is_checked = check_of(call) is Check.BEFORE
    before: tuple[Dispatch, ...] = ()
    if marked:
        before = _mark(index, kind, lines, limits, is_checked)
    elif not is_checked:
        before = _check(index, kind, lines.extents[lines.axis], limits)
    adding = each_output(module, count, pointers, pack(*geometry, lines.axis), limits, token)
    return Lowered((*before, *adding), (padded(SPAN_BYTES * count),) if marked else ())


def check(
    operand: Operand, bound: int, slots: Sequence[Slot], limits: Limits
) -> tuple[Dispatch, ...]:
    """Check indices by a kernel of their own."""
    index = read_operand(operand, slots)
    return _check(index, _token(index, slots), bound, limits)


def _check(index: Read, kind: str, bound: int, limits: Limits) -> tuple[Dispatch, ...]:
    """Look once at each index, however often it is used."""
    if not size(index.shape):
        return ()
    shape = tuple(d if s else 1 for d, s in zip(index.shape, index.strides, strict=True))
    count = size(shape)
    push = pack(*index.without(), count, *shape, bound)
    pointers = (index.pointer, ERROR_POINTER)
    return each_output(f"index.check.{kind}", count, pointers, push, limits, kind)


def _mark(
    index: Read, kind: str, lines: Lines, limits: Limits, is_checked: bool
) -> tuple[Dispatch, ...]:
    """Check the indices, unless that is done, and leave the span of each target's sources in
    scratch buffer 0.
    """
    spans, targets, count = Pointer(~0, 0), size(lines.extents), size(index.shape)
    clear = each_output("index.clear", targets, (spans,), pack(targets), limits, kind)
    push = pack(
        *(*index.without(), count, *index.shape, lines.extents[lines.axis]),
        *(*lines.targets(), *lines.numbers(index)),
    )
    ending, errors = _reporting(not is_checked)
    pointers = (index.pointer, spans, *errors)
    return (*clear, *each_output(f"index.mark.{kind}{ending}", count, pointers, push, limits, kind))


def _reporting(reports: bool) -> tuple[str, tuple[Pointer, ...]]:
    """Give the ending of a module that reports errors, or that does not, and where to."""
    return ("", (ERROR_POINTER,)) if reports else (".checked", ())


def _token(operand: Read, slots: Sequence[Slot]) -> str:
    return TOKENS[slots[operand.pointer.slot].dtype]


_LOWER: Final[dict[str, Lower]] = {"gather": gather, "scatter_add": scatter_add}
OPS: Final = frozenset(_LOWER)

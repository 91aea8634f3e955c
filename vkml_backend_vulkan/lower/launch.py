"""Kernels that compute one output at a time: their operands at rank 4 and their dispatch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vkml_backend_vulkan.dispatch import ERRORS, Dispatch, Limits, Pointer
from vkml_backend_vulkan.lower.layout import grid, local_size, operands, to_rank_4
from vkml_core.plan import Operand, Slot, SlotKind, Step
from vkml_core.shapes import MAX_RANK, Shape

PER_WORD: Final = {"f16": 2, "b8": 4}
"""Elements of an output that share a 32-bit word, where that is not one."""


@dataclass(frozen=True, slots=True)
class Read:
    """An operand brought to rank 4 by leading axes of size 1; numbers are elements."""

    pointer: Pointer
    shape: Shape
    strides: tuple[int, ...]
    offset: int

    def without(self, *axes: int) -> tuple[int, ...]:
        """Give offset and strides, the strides of `axes` set to 0."""
        return (self.offset, *(0 if i in axes else s for i, s in enumerate(self.strides)))


def read(step: Step, argument: int, slots: Sequence[Slot]) -> Read:
    """Describe the argument of the step's only call."""
    return read_operand(operands(step)[argument], slots)


def read_operand(operand: Operand, slots: Sequence[Slot]) -> Read:
    """Describe an operand. A host number is one element."""
    view, pointer = operand.view, Pointer(operand.slot, 0)
    shape = to_rank_4(view.shape, 1)
    if slots[operand.slot].kind is SlotKind.SCALAR or 0 in view.shape:
        return Read(pointer, shape, (0,) * MAX_RANK, 0)
    return Read(pointer, shape, to_rank_4(view.strides, 0), view.offset)


def in_fours(operand: Read, axis: int) -> bool:
    """Tell whether the elements of an axis lie in vectors of four, each at a multiple of four."""
    others = [
        s
        for i, (d, s) in enumerate(zip(operand.shape, operand.strides, strict=True))
        if i != axis and d != 1
    ]
    apart = [operand.shape[axis], operand.offset, *others]
    return operand.strides[axis] == 1 and not any(n % 4 for n in apart)


def each_output(
    module: str,
    count: int,
    pointers: Sequence[Pointer],
    push: bytes,
    limits: Limits,
    dtype: str,
    constants: Sequence[int] = (),
) -> tuple[Dispatch, ...]:
    """Launch an invocation for each output word; nothing where there is no output. `constants` are
    those from number 1 on.
    """
    invocations = -(-count // PER_WORD.get(dtype, 1))
    local = local_size(limits)
    groups = grid(invocations, local, limits)
    if not count:
        return ()
    return (Dispatch(module, groups, tuple(pointers), push, (local, *constants)),)


ERROR_POINTER: Final = Pointer(ERRORS, 0)

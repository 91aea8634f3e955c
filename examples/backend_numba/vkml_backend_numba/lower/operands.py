"""Operands of kernels: where elements lie, and copies of them that lie in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vkml_core.dtypes import DType, bool_, float16, float32, int32, int64
from vkml_core.plan import Operand, Slot, SlotKind
from vkml_core.shapes import View, size

from vkml_backend_numba.kernels.blocks import BOOL, F16, F32, I32, I64

DTYPE: Final = {float32: F32, float16: F16, int32: I32, int64: I64, bool_: BOOL}
LETTER: Final = {float32: "f", float16: "f", int32: "i", int64: "l", bool_: "b"}
"""How a dtype's values are held in blocks (`kernels.elementwise`)."""
RANK: Final = 4


@dataclass(frozen=True)
class Place:
    """Elements in memory: a slot, a view in elements of it, and their dtype."""

    slot: int
    view: View
    dtype: DType

    @staticmethod
    def of(operand: Operand, slot: Slot) -> Place:
        """Give the place of a step's operand; a host number has one element for any shape."""
        view = operand.view
        if slot.kind is SlotKind.SCALAR:
            view = View(view.shape, (0,) * len(view.shape), 0)
        return Place(operand.slot, view, slot.dtype)

    @property
    def offset(self) -> int:
        """Bytes from the slot's beginning."""
        return self.view.offset * self.dtype.itemsize

    @property
    def in_order(self) -> bool:
        """Whether its elements lie side by side in order."""
        return self.view.is_contiguous

    def words(self) -> list[int]:
        """Describe it to `kernels.blocks.load`."""
        dims = merged(self.view)
        shape = [1] * (RANK - len(dims)) + [d for d, _ in dims]
        strides = [0] * (RANK - len(dims)) + [s for _, s in dims]
        return [
            *(self.slot, self.offset, DTYPE[self.dtype], int(self.in_order)),
            *(*shape, *strides),
        ]


def merged(view: View) -> list[tuple[int, int]]:
    """Give sizes and strides without axes of size 1, neighbours merged where memory allows it."""
    dims: list[tuple[int, int]] = []
    for d, s in zip(view.shape, view.strides, strict=True):
        if d == 1:
            continue
        if dims and dims[-1][1] == s * d:
            dims[-1] = dims[-1][0] * d, s
        else:
            dims.append((d, s))
    return dims


def has_elements(operand: Operand) -> bool:
    """Whether there is anything to read."""
    return size(operand.view.shape) > 0

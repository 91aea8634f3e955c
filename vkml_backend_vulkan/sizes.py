"""What 32-bit offsets reach: larger slots, views and arrays are refused by name."""

from __future__ import annotations

from typing import Final

from vkml_core.dtypes import DType
from vkml_core.errors import OutOfMemoryError
from vkml_core.plan import Operand, Plan
from vkml_core.shapes import Shape, size

MOST_ELEMENTS: Final = 2**31 - 1
"""Of one tensor, and of one view of it: kernels count elements in signed 32-bit integers."""


def check_elements(what: str, dtype: DType, shape: Shape) -> None:
    """Refuse a tensor of more elements than kernels count. Raises OutOfMemoryError."""
    if size(shape) > MOST_ELEMENTS:
        raise OutOfMemoryError(
            f"vulkan: {what}, {dtype.name}{shape}, has {size(shape):,} elements, more than "
            f"{MOST_ELEMENTS:,}, the most of one tensor; split it"
        )


def check_plan(plan: Plan) -> None:
    """Refuse slots and views that kernels cannot address. Raises OutOfMemoryError."""
    for slot in plan.slots:
        check_elements(f"slot {slot.index}", slot.dtype, slot.shape)
    for i, step in enumerate(plan.steps):
        for operand in step.operands:
            where = f"step {i}, {step.calls[-1].op}: a view of slot {operand.slot}"
            check_elements(where, plan.slots[operand.slot].dtype, operand.view.shape)
            _check_view(where, operand)


def _check_view(where: str, operand: Operand) -> None:
    view = operand.view
    if any(abs(n) > MOST_ELEMENTS for n in (view.offset, *view.strides)):
        raise OutOfMemoryError(
            f"vulkan: {where} has offset {view.offset} and strides {view.strides}; they may be "
            f"{MOST_ELEMENTS:,} at most; split the tensor"
        )

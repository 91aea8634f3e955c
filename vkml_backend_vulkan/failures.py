"""Errors that kernels find: from a step's error record to the exception that the oracle raises."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from vkml_backend_vulkan.dispatch import DIVISION_BY_ZERO, ERROR_BYTES, INDEX_OUT_OF_RANGE
from vkml_backend_vulkan.shaders.table import TOKENS
from vkml_backend_vulkan.shaders.tables import elementwise
from vkml_core.backend import Array
from vkml_core.errors import DeviceError, DivisionError, Error, IndexError_
from vkml_core.plan import Call, Step
from vkml_core.shapes import Shape

_DIVISIONS: Final = {"pow": "0 to a negative power"}


def first_error(records: Array, steps: Sequence[Step]) -> Error | None:
    """Give the error of the first step whose record holds a code.

    `records` is uint8[len(steps) · ERROR_BYTES], a record for each of `steps`, in order.
    """
    words = records.view(np.uint32).reshape(len(steps), ERROR_BYTES // 4)
    for step, record in zip(steps, words, strict=True):
        if record[0]:
            value = int(record[1:3].view(np.int64)[0])
            return _error(int(record[0]), value, step)
    return None


def _error(code: int, value: int, step: Step) -> Error:
    call = next((c for c in step.calls if _can_fail(c)), step.calls[0])
    if code == DIVISION_BY_ZERO:
        return DivisionError(f"{call.op}: {_DIVISIONS.get(call.op, 'integer division by zero')}")
    if code == INDEX_OUT_OF_RANGE:
        op, axis, size = _indexed(step)
        return IndexError_(f"{op}: index {value} is out of range for axis {axis} with size {size}")
    return DeviceError(
        f"vulkan: {call.op} gave the error code {code}; this is an error of the backend"
    )


def _can_fail(call: Call) -> bool:
    return elementwise.fails(call.op, TOKENS[call.dtype])


def _indexed(step: Step) -> tuple[str, int, int]:
    """Name the operation, the axis that the indices point into and its size, as the oracle does."""
    call = step.calls[0]
    if call.op == "max_unpool2d":  # a scatter_add over the pixels of each image
        height, width = call.attrs.image
        return "scatter_add", 2, height * width
    axis = call.attrs.axis
    source: Shape = step.operands[call.args[0]].view.shape
    return call.op, axis, getattr(call.attrs, "size", source[axis])

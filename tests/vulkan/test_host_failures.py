"""Error records of kernels become the exceptions that the oracle raises, in the order of steps."""

from __future__ import annotations

import numpy as np
import pytest

from vkml_backend_vulkan.dispatch import DIVISION_BY_ZERO, ERROR_BYTES, INDEX_OUT_OF_RANGE
from vkml_backend_vulkan.failures import first_error
from vkml_core.dtypes import float32, int64
from vkml_core.errors import DeviceError, DivisionError, Error, IndexError_
from vkml_core.ops.spec import REGISTRY
from vkml_core.plan import Call, Operand, Step
from vkml_core.shapes import View


def _step(op: str, **attrs: int) -> Step:
    made = REGISTRY[op].attrs
    values = made(**attrs) if made else None
    view = View.of((5, 7))
    call = Call(op, values, (0, 1), (5, 7), float32 if attrs else int64)
    return Step((call,), (Operand(0, view), Operand(1, view)), 2)


GATHER, SCATTER = _step("gather", axis=1), _step("scatter_add", axis=0, size=9)
DIVIDE, POWER = _step("floor_divide"), _step("pow")


def _records(*found: tuple[int, int]) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    raw = np.zeros(len(found) * ERROR_BYTES, np.uint8)
    words = raw.view(np.uint32).reshape(len(found), -1)
    for record, (code, value) in zip(words, found, strict=True):
        record[0] = code
        record[1:3] = np.array([value], np.int64).view(np.uint32)
    return raw


@pytest.mark.parametrize(
    ("step", "code", "kind", "message"),
    [
        (GATHER, 1, IndexError_, "gather: index -3 is out of range for axis 1 with size 7"),
        (SCATTER, 1, IndexError_, "scatter_add: index -3 is out of range for axis 0 with size 9"),
        (DIVIDE, 2, DivisionError, "floor_divide: integer division by zero"),
        (POWER, 2, DivisionError, "pow: 0 to a negative power"),
        (DIVIDE, 7, DeviceError, "vulkan: floor_divide gave the error code 7"),
    ],
)
def test_messages(step: Step, code: int, kind: type[Error], message: str) -> None:
    error = first_error(_records((code, -3)), [step])
    assert type(error) is kind and str(error).startswith(message)


def test_the_first_step_counts_and_values_are_wide() -> None:
    assert first_error(_records((0, 0), (0, 0)), [GATHER, DIVIDE]) is None
    both = _records((0, 5), (INDEX_OUT_OF_RANGE, 2**40 + 1), (DIVISION_BY_ZERO, 0))
    error = first_error(both, [DIVIDE, GATHER, DIVIDE])
    assert str(error).startswith(f"gather: index {2**40 + 1} is")

"""Host numbers as bytes: what NumPy makes of them, whatever `struct` refuses."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import needs_vulkan  # noqa: F401
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vkml_backend_vulkan.dispatch import SCALAR_BYTES
from vkml_backend_vulkan.numbers import Numbers
from vkml_core.dtypes import DType, bool_, float16, float32, int32, int64
from vkml_core.plan import Slot, SlotKind

REALS = st.floats(allow_nan=False) | st.integers(-(2**60), 2**60)


def _slots(dtypes: list[DType], indices: Iterable[int]) -> list[Slot]:
    return [Slot(i, SlotKind.SCALAR, (), t) for i, t in zip(indices, dtypes, strict=False)]


def _written(dtypes: list[DType], numbers: list[Any]) -> list[bytes]:
    target = bytearray(SCALAR_BYTES * len(dtypes))
    made = Numbers(_slots(dtypes, range(len(dtypes))))
    assert made.nbytes == len(target)
    made.write(target, numbers)
    starts = (SCALAR_BYTES * i for i in range(len(dtypes)))
    return [bytes(target[at : at + t.itemsize]) for at, t in zip(starts, dtypes, strict=True)]


@given(REALS, REALS)
def test_floats_are_rounded_once(a: float, b: float) -> None:
    with np.errstate(over="ignore"):
        want = [np.float32(a).tobytes(), np.float16(b).tobytes()]
    assert _written([float32, float16], [a, b]) == want


@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1), st.booleans())
def test_whole_numbers_and_bools(a: int, b: int, c: bool) -> None:
    want = [np.int32(a).tobytes(), np.int64(b).tobytes(), np.bool_(c).tobytes()]
    assert _written([int32, int64, bool_], [a, b, c]) == want


@pytest.mark.parametrize("nan", [math.nan, -math.nan, float(np.float64(-np.nan))])
def test_there_is_one_nan(nan: float) -> None:
    want = [np.float32(np.nan).tobytes(), np.float16(np.nan).tobytes()]
    assert _written([float32, float16], [nan, nan]) == want


def test_what_is_too_large_is_infinite() -> None:
    want = [np.float32(np.inf).tobytes(), np.float16(-np.inf).tobytes(), np.int32(5).tobytes()]
    assert _written([float32, float16, int32], [1e300, -1e6, 5]) == want


@pytest.mark.parametrize("numbers", [[], [1.0], [1.0, 2.0, 3.0]])
def test_their_count_is_checked(numbers: list[float]) -> None:
    with pytest.raises(ValueError, match=f"got {len(numbers)} numbers, expected 2"):
        _written([float32, float32], numbers)


def test_they_lie_in_the_order_of_their_slots() -> None:
    target = bytearray(2 * SCALAR_BYTES)
    Numbers(_slots([float32, int32], (7, 3))).write(target, [1.5, 9])
    assert target[:4] == np.int32(9).tobytes()
    assert target[SCALAR_BYTES : SCALAR_BYTES + 4] == np.float32(1.5).tobytes()

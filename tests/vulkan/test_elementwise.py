"""Element-wise operations on the Vulkan device have the oracle's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracle.run import attributes
from tests.oracle.values import Array, anything, bits, bools, ints, rough
from tests.vulkan.family import DTYPES, cases, values
from tests.vulkan.single import Source, judge
from vkml_backend_vulkan.lower import OPS
from vkml_core import dtypes
from vkml_core.backend import Device
from vkml_core.errors import DivisionError
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.shapes import View

HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16)
"""Every float16."""
EXACT = ("neg", "abs", "sign", "relu", "floor", "ceil", "round", "trunc", "isnan", "isinf")
ROUNDED: tuple[str, ...] = ("sqrt", "rsqrt", "reciprocal", "exp", "exp2", "expm1")
ROUNDED += ("log", "log2", "log10", "log1p", "sin", "cos", "tan", "tanh", "sigmoid", "erf", "erfc")


@pytest.mark.parametrize(("op", "attrs", "arrays"), cases(Kind.ELEMENTWISE))
def test_the_cases_of_the_oracle(
    device: Device, op: str, attrs: Any, arrays: tuple[Array, ...]
) -> None:
    judge(device, op, attrs, *arrays)


@pytest.mark.parametrize("op", [*EXACT, *ROUNDED])
def test_every_float16(device: Device, op: str) -> None:
    judge(device, op, None, HALVES)


@pytest.mark.parametrize("to", dtypes.DTYPES, ids=str)
def test_every_float16_is_cast(device: Device, to: dtypes.DType) -> None:
    judge(device, "cast", attributes("cast", dtype=to), HALVES)


def test_narrowing_around_every_float16(device: Device) -> None:
    """Each midpoint between neighbours, and the floats next to it."""
    wide = HALVES[np.isfinite(HALVES)].astype(np.float32).view(np.uint32)
    near = (wide[:, None] + np.uint32(0x1000) + np.arange(-1, 2, dtype=np.int32)).astype(np.uint32)
    x = np.concatenate([near.ravel(), wide - np.uint32(1), wide + np.uint32(1)]).view(np.float32)
    judge(device, "cast", attributes("cast", dtype=dtypes.float16), x)


@pytest.mark.parametrize("to", dtypes.DTYPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_casts_of_any_bits(device: Device, dtype: Any, to: dtypes.DType) -> None:
    judge(device, "cast", attributes("cast", dtype=to), values("cast", 4099, dtype=dtype))


def test_floats_around_the_limits_of_integers(device: Device) -> None:
    edges = np.array([2.0**31, 2.0**63, 2.0**32, 2.0**53, 1.0], np.float32).view(np.int32)
    x = (edges[:, None] + np.arange(-4, 5, dtype=np.int32)).view(np.float32)
    for to in (dtypes.int32, dtypes.int64):
        judge(device, "cast", attributes("cast", dtype=to), np.concatenate([x, -x]))


def test_integers_round_to_even(device: Device) -> None:
    ties = (np.int64(1) << np.arange(24, 63))[:, None] + np.arange(-3, 4)
    halves = (np.int64(3) << np.arange(22, 61))[:, None] + np.arange(-3, 4)
    x = np.concatenate([ties, halves, -ties, -halves])
    judge(device, "cast", attributes("cast", dtype=dtypes.float32), x)
    judge(device, "cast", attributes("cast", dtype=dtypes.float32), x.astype(np.int32))


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 6, 7, 8, 511, 513])
@pytest.mark.parametrize("dtype", DTYPES)
def test_sizes_around_four(device: Device, dtype: Any, n: int) -> None:
    a, b = values("a", n, dtype=dtype), values("b", n, dtype=dtype)
    judge(device, "equal", None, a, b)
    judge(device, "where", None, bools("c", n), a, b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_strange_layouts(device: Device, dtype: Any) -> None:
    a, b = values("a", 3, 5, 2, 7, dtype=dtype), values("b", 3, 5, 2, 7, dtype=dtype)
    c = bools("c", 3, 5, 2, 7)
    judge(device, "less", None, Source.strange(a), Source.strange(b))
    judge(device, "where", None, Source.strange(c), a, Source.strange(b))
    judge(device, "where", None, c, Source.strange(a), b)


@pytest.mark.parametrize("dtype", DTYPES)
def test_broadcast_operands(device: Device, dtype: Any) -> None:
    row, column = values("r", 9, dtype=dtype), values("c", 6, dtype=dtype)
    one = values("o", 5, dtype=dtype)
    shape = (6, 9)
    rows = Source(row, View(shape, (0, 1)))
    columns = Source(column, View(shape, (1, 0)))
    judge(device, "less_equal", None, rows, columns)
    judge(device, "less_equal", None, Source(one, View(shape, (0, 0), 3)), columns)


@pytest.mark.parametrize("offset", range(6))
@pytest.mark.parametrize("dtype", DTYPES)
def test_contiguous_parts(device: Device, dtype: Any, offset: int) -> None:
    """A contiguous operand that begins anywhere, and ends with its memory."""
    memory = values("m", 11 + offset, dtype=dtype)
    part = Source(memory, View((11,), (1,), offset))
    judge(device, "not_equal", None, part, values("b", 11, dtype=dtype))


def test_remainders_of_any_floats(device: Device) -> None:
    a, b = anything("a", 20000), anything("b", 20000)
    for op in ("remainder", "floor_divide"):
        judge(device, op, None, a, b)
        judge(device, op, None, rough("a", 20000), rough("b", 20000))
    tiny = bits("t", 5000).view(np.uint32) & np.uint32(0x807FFFFF)
    judge(device, "remainder", None, anything("a", 5000), tiny.view(np.float32))


def test_divisions_of_any_integers(device: Device) -> None:
    for dtype in (np.int32, np.int64):
        a, b = bits("a", 5000, dtype=dtype), bits("b", 5000, dtype=dtype)
        b >>= ints("s", 0, 8 * b.itemsize, 5000, dtype=dtype)
        b[b == 0] = -1
        judge(device, "floor_divide", None, a, b)
        judge(device, "remainder", None, a, b)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize(("op", "b"), [("floor_divide", 0), ("remainder", 0), ("pow", -1)], ids=str)
def test_a_division_by_zero_is_an_error(device: Device, op: str, b: int, dtype: Any) -> None:
    a = np.arange(-4, 5, dtype=dtype)
    fine = np.full(9, 3, dtype)
    wrong = np.where(a == 0, b, fine).astype(dtype)
    judge(device, op, None, a, fine)  # the padding of a quad is no divisor
    with pytest.raises(DivisionError, match=op):
        judge(device, op, None, a, wrong)


def test_every_row_that_computes_is_lowered() -> None:
    views = (Kind.LEAF, Kind.VIEW, Kind.ASSIGN)
    assert {op for op, row in REGISTRY.items() if row.kind not in views} == OPS

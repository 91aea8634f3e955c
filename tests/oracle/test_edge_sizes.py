"""Sizes around the chunks and lanes of rules 16 to 21, rank 0, no element, the errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import vkml
from vkml_core.errors import DivisionError, IndexError_
from vkml_core.ops.spec import REGISTRY, Kind

from . import reference_sums
from .cases import CASES, Case
from .reference import judge
from .run import assert_same_bits, attributes, run
from .values import EDGES, Array, anything, bits, ints, real, rough

OVER_AXES = ("sum", "prod", "amax", "amin")
OVER_AXIS = ("argmax", "argmin", "cumsum", "argsort")
DTYPES = (np.float32, np.int32, np.int64)


def rows(name: str, n: int, dtype: Any) -> Array:
    """Give (2, n); the products stay finite."""
    if dtype != np.float32:
        return bits(name, 2, n, dtype=dtype)
    return real(name, 2, n) + np.float32(2) if name == "prod" else rough(name, 2, n)


EMPTY_HAS_NONE = ("amax", "amin", "argmax", "argmin")
SIZES = [(op, n) for op in OVER_AXES + OVER_AXIS for n in EDGES if n or op not in EMPTY_HAS_NONE]


@pytest.mark.parametrize(("op", "n"), SIZES)
def test_reductions_and_scans(op: str, n: int) -> None:
    where: dict[str, Any] = {"axes": (1,)} if op in OVER_AXES else {"axis": 1}
    for more in ({"descending": d} for d in (False, True)) if op == "argsort" else ({},):
        for dtype in DTYPES:
            judge(op, attributes(op, **where, **more), rows(op, n, dtype))


@pytest.mark.parametrize("n", EDGES)
def test_sum_over_two_axes_goes_row_major_across_chunks(n: int) -> None:
    judge("sum", attributes("sum", axes=(0, 2)), rough("two", 3, 1, n))


def test_sum_of_all_exponents_with_infinities() -> None:
    judge("sum", attributes("sum", axes=(1,)), anything("sum", 30, 70))


@pytest.mark.parametrize("n", [32, 1024, 2048])
def test_partial_sums_start_from_plus_zero(n: int) -> None:
    zeros = np.full((2, n), -0.0, np.float32)
    for op, where in (("sum", {"axes": (1,)}), ("cumsum", {"axis": 1})):
        judge(op, attributes(op, **where), zeros)
        assert not np.signbit(run(op, attributes(op, **where), zeros)).any()


def test_sum_of_a_million() -> None:
    """Chunk by chunk with whole arrays, then by scalars."""
    x = rough("million", 1024 * 1024 + 1)
    chunks = np.concatenate([x, np.zeros(1023, np.float32)]).reshape(1025, 32, 32)
    lanes = np.zeros((1025, 32), np.float32)
    for step in range(32):
        lanes = lanes + chunks[:, step]
    for half in (16, 8, 4, 2, 1):
        lanes = lanes[:, :half] + lanes[:, half:]
    want = reference_sums.float_sum(list(lanes[:, 0]))
    got = run("sum", attributes("sum", axes=(0,)), x)
    assert_same_bits(got, np.array(want))


@pytest.mark.parametrize("k", EDGES)
def test_matmul(k: int) -> None:
    for dtype in DTYPES:
        for m, n in ((1, 1), (3, 2), (2, 3)):
            a, b = rows("left", m * k, dtype)[:1], rows("right", k * n, dtype)[:1]
            judge("matmul", None, a.reshape(m, k), b.reshape(k, n))


@pytest.mark.parametrize("batch", [(), (2,), (2, 1, 3), (0,)])
def test_matmul_batches(batch: tuple[int, ...]) -> None:
    judge("matmul", None, rough("a", *batch, 4, 33), rough("b", *batch, 33, 5))


def test_matmul_rows_do_not_change_with_the_batch() -> None:
    """Sizes of more than a tile in every direction."""
    a, b = rough("a", 300, 1100), rough("b", 1100, 200)
    whole = run("matmul", None, a, b)
    for row in (0, 163, 299):
        assert_same_bits(run("matmul", None, a[row : row + 1], b)[0], whole[row])
        assert_same_bits(run("matmul", None, b.T, a[row : row + 1].T)[:, 0], whole[row])
    columns = [list(b[:, c]) for c in (0, 199)]
    spots = np.array([reference_sums.dot(list(a[299]), column) for column in columns])
    assert_same_bits(whole[299, [0, 199]], spots)


def test_matmul_longer_than_a_tile_of_chunks() -> None:
    """K so long that not all its chunks are worked on at once."""
    a, b = rough("a", 200, 1537), rough("b", 1537, 160)
    whole = run("matmul", None, a, b)
    want = reference_sums.dot(list(a[7]), list(b[:, 11]))
    assert_same_bits(whole[7, 11], np.array(want)[()])


@pytest.mark.parametrize(("c", "n", "o"), [(57, 1, 3), (58, 2, 1), (1, 3, 515)])
def test_convolutions_longer_than_a_chunk(c: int, n: int, o: int) -> None:
    """58 channels of 3 x 3 are 522 products, 3 images of 14 x 14 places 588, 515 outputs 515."""
    image = (14, 14) if c == 1 else (4, 3)
    geometry = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    kernel = (1, 1) if o > 512 else (3, 3)
    size = tuple(d + 2 - (k - 1) for d, k in zip(image, kernel, strict=True))
    outputs = min(o, 2)
    x, w = rough("x", n, c, *image), rough("w", o, c, *kernel)
    few, g = rough("w", outputs, c, *kernel), rough("g", n, outputs, *size)
    judge("conv2d", attributes("conv2d", **geometry), x, few)
    to_weight = attributes("conv2d_weight_grad", kernel=kernel, **geometry)
    judge("conv2d_weight_grad", to_weight, x, g)
    small = (4, 3)
    places = tuple(d + 2 - (k - 1) for d, k in zip(small, kernel, strict=True))
    to_input = attributes("conv2d_input_grad", image=small, **geometry)
    judge("conv2d_input_grad", to_input, rough("g", 1, o, *places), w)


def test_scatter_add_starts_from_plus_zero_and_keeps_the_order() -> None:
    attrs = attributes("scatter_add", axis=0, size=1)
    index = np.zeros(3, np.int64)
    one = np.array([1.0, 2.0**24, -(2.0**24)], np.float32)
    assert run("scatter_add", attrs, one, index).tolist() == [0.0]
    assert run("scatter_add", attrs, one[::-1], index).tolist() == [1.0]
    zero = run("scatter_add", attrs, np.full(3, -0.0, np.float32), index)
    assert zero.view(np.uint32).tolist() == [0]


ELEMENTWISE = [case for case in CASES if REGISTRY[case.op].kind is Kind.ELEMENTWISE]


@pytest.mark.parametrize("case", ELEMENTWISE, ids=lambda case: case.name)
def test_rank_zero_and_no_element(case: Case) -> None:
    whole = run(case.op, case.attrs, *case.arrays).reshape(-1)
    flat = [a.reshape(-1) for a in case.arrays]
    for i in (0, whole.size // 3, whole.size - 1):
        alone = run(case.op, case.attrs, *(a[i : i + 1].reshape(()) for a in flat))
        assert_same_bits(alone, np.array(whole[i]))
    none = run(case.op, case.attrs, *(a[:0].reshape(0, 2) for a in flat))
    assert none.shape == (0, 2)


@pytest.mark.parametrize("op", ["remainder", "floor_divide"])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_integer_division_by_zero(op: str, dtype: Any) -> None:
    with pytest.raises(DivisionError, match=op):
        run(op, None, np.array([1, 2], dtype), np.array([1, 0], dtype))


def test_zero_to_a_negative_power() -> None:
    with pytest.raises(DivisionError, match="pow"):
        run("pow", None, np.array([2, 0]), np.array([-1, -1]))
    assert run("pow", None, np.array([0, 0]), np.array([0, 3])).tolist() == [1, 0]


@pytest.mark.parametrize("wrong", [-1, 3])
def test_indices_out_of_range(wrong: int) -> None:
    x, index = real("x", 3), np.array([0, wrong])
    with pytest.raises(IndexError_, match=f"index {wrong} .* axis 0 with size 3"):
        run("gather", attributes("gather", axis=0), x, index)
    with pytest.raises(IndexError_, match=f"index {wrong} .* axis 0 with size 3"):
        run("scatter_add", attributes("scatter_add", axis=0, size=3), x[:2], index)


@pytest.mark.parametrize("most", [3, 1000, 2**22, 2**25])
def test_floor_divide_and_remainder_near_multiples(most: int) -> None:
    """There a rounded quotient is wrong; from 2²² on it is halfway between two integers."""
    b = np.r_[rough("b", 300), anything("b", 100)]
    with np.errstate(all="ignore"):
        near = b * ints(f"q {most}", -most, most + 1, 400).astype(np.float32)
        around = np.r_[near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, -b)]
    a = np.r_[around.astype(np.float32), anything("a", 400)]
    for op in ("floor_divide", "remainder"):
        judge(op, None, a, np.r_[b, b, b, b])


def test_worker_threads_are_as_quiet_as_the_caller() -> None:
    """∞ · 0 in a matmul of several tiles is a NaN, not a warning (which would fail the tests)."""
    a = np.full((300, 3), np.inf, np.float32)
    product = vkml.matmul(vkml.tensor(a), vkml.zeros(3, 5000)).numpy()
    assert np.isnan(product).all()

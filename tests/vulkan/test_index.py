"""Gather, scatter_add and argsort on Vulkan: the oracle's bits, and its errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracle.cases import CASES, Case
from tests.oracle.run import attributes
from tests.oracle.values import EDGES, anything, bits, bools, ints, rough
from tests.vulkan.single import Source, judge, judge_case
from vkml_core.backend import Device
from vkml_core.errors import IndexError_
from vkml_core.shapes import View

INDEXED = [case for case in CASES if case.op in ("gather", "scatter_add", "argsort")]


@pytest.mark.parametrize("case", INDEXED, ids=lambda case: case.name)
def test_cases(device: Device, case: Case) -> None:
    judge_case(device, case)


@pytest.mark.parametrize("axis", range(4))
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_every_axis(device: Device, axis: int, dtype: Any) -> None:
    shape = [2, 3, 4, 5]
    index = ints("index", 0, shape[axis], *shape, dtype=dtype)
    for x in (rough("x", *shape), bits("x", *shape, dtype=np.int64), bools("x", *shape)):
        judge(device, "gather", attributes("gather", axis=axis), x, index)
        if x.dtype != bool:
            attrs = attributes("scatter_add", axis=axis, size=shape[axis])
            judge(device, "scatter_add", attrs, x, index)
    up = attributes("argsort", axis=axis, descending=False)
    judge(device, "argsort", up, anything("x", *shape))


@pytest.mark.parametrize("n", EDGES)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int64])
def test_lines(device: Device, n: int, dtype: Any) -> None:
    """As many elements as an edge of chunks and workgroups says; `few` is full of ties."""
    few = ints("few", -3, 4, 2, n).astype(dtype)
    wide = rough("x", 2, n).astype(dtype)
    for descending in (False, True):
        attrs = attributes("argsort", axis=1, descending=descending)
        judge(device, "argsort", attrs, few)
        judge(device, "argsort", attrs, wide)
    index = ints("index", 0, 7, 2, n)
    judge(device, "scatter_add", attributes("scatter_add", axis=1, size=7), wide, index)
    if n:
        many = ints("many", 0, n, 2, 9)
        judge(device, "gather", attributes("gather", axis=1), wide, many)


def test_broadcast_indices(device: Device) -> None:
    """Rows picked from a table: the index has a stride of 0 along the row."""
    table, rows = rough("table", 11, 6), ints("rows", 0, 11, 9)
    index = Source(rows, View.of((9, 1)).expand((9, 6)))
    picked = judge(device, "gather", attributes("gather", axis=0), table, index)
    judge(device, "scatter_add", attributes("scatter_add", axis=0, size=11), picked, index)


def test_additions_start_from_plus_zero_and_keep_the_order(device: Device) -> None:
    attrs, index = attributes("scatter_add", axis=0, size=1), np.zeros(3, np.int64)
    one = np.array([1.0, 2.0**24, -(2.0**24)], np.float32)
    assert judge(device, "scatter_add", attrs, one, index).tolist() == [0.0]
    assert judge(device, "scatter_add", attrs, one[::-1].copy(), index).tolist() == [1.0]


def test_no_element(device: Device) -> None:
    none, index = np.zeros((2, 0), np.float32), np.zeros((2, 0), np.int64)
    attrs = attributes("scatter_add", axis=1, size=3)
    assert not judge(device, "scatter_add", attrs, none, index).any()
    judge(device, "gather", attributes("gather", axis=1), rough("x", 2, 3), index)
    judge(device, "argsort", attributes("argsort", axis=1, descending=True), none)


@pytest.mark.parametrize("wrong", [-1, 3, 2**32, -(2**40)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_indices_out_of_range(device: Device, wrong: int, dtype: Any) -> None:
    if abs(wrong) > 2**31 and dtype == np.int32:
        wrong = 2**31 - 1
    x, index = rough("x", 3), np.array([0, wrong], dtype)
    message = f"index {wrong} .* axis 0 with size 3"
    with pytest.raises(IndexError_, match=f"gather: {message}"):
        judge(device, "gather", attributes("gather", axis=0), x, index)
    with pytest.raises(IndexError_, match=f"scatter_add: {message}"):
        judge(device, "scatter_add", attributes("scatter_add", axis=0, size=3), x[:2], index)
    judge(device, "gather", attributes("gather", axis=0), x, index * 0)


def test_every_index_is_outside_of_an_empty_axis(device: Device) -> None:
    x, index = np.zeros(0, np.float32), np.zeros(2, np.int64)
    with pytest.raises(IndexError_, match=r"index 0 .* size 0"):
        judge(device, "gather", attributes("gather", axis=0), x, index)
    with pytest.raises(IndexError_, match=r"index 0 .* size 0"):
        attrs = attributes("scatter_add", axis=0, size=0)
        judge(device, "scatter_add", attrs, rough("x", 2), index)

"""Operands whose neighbours in memory are not neighbours in the result: patches and columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracle.run import attributes
from tests.oracle.values import rough
from tests.vulkan.family import DTYPES, values
from tests.vulkan.single import Source, judge
from vkml_backend_vulkan.lower.elementwise import LAST, _patch
from vkml_core.backend import Device
from vkml_core.shapes import View, size

SHAPES = [(20, 16), (64, 64), (17, 68), (33, 100), (16, 4), (3, 18, 2, 8), (2, 3, 40, 36)]


def turned(shape: tuple[int, ...], order: tuple[int, ...]) -> View:
    """Give the view of this shape over memory in which the axes lie in another order."""
    strides, step = [0] * len(shape), 1
    for axis in reversed(order):
        strides[axis] = step
        step *= shape[axis]
    return View(shape, tuple(strides))


ORDERS = {2: [(1, 0)], 4: [(0, 1, 3, 2), (0, 3, 2, 1), (3, 0, 1, 2), (1, 2, 3, 0)]}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_transposed_operands(device: Device, shape: tuple[int, ...], dtype: Any) -> None:
    for order in ORDERS[len(shape)]:
        view = turned(shape, order)
        source = Source(values("t", size(shape), dtype=dtype), view)
        judge(device, "contiguous", None, source)
        judge(device, "equal", None, source, values("u", *shape, dtype=dtype))


def test_when_patches_are_used() -> None:
    assert _patch((1, 1, 64, 64), [(0, 0, 1, 64)]) == 2
    assert _patch((64, 1, 3, 64), [(1, 0, 64, 192)]) == 0
    assert _patch((1, 1, 64, 62), [(0, 0, 1, 64)]) == LAST  # quads would cross rows
    assert _patch((1, 1, 8, 64), [(0, 0, 1, 8)]) == LAST
    assert _patch((1, 1, 64, 64), [(0, 0, 1, 0)]) == LAST  # a column, broadcast along rows


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int32, np.int64])
@pytest.mark.parametrize("shape", [(40, 9), (1025, 5), (2049, 40), (33, 2), (3, 70, 11)], ids=str)
def test_reduced_columns(device: Device, shape: tuple[int, ...], dtype: Any) -> None:
    for op in ("sum", "prod", "amax"):
        x = rough(op, *shape).astype(dtype)
        for axes in ((0,), (0, 1)) if len(shape) == 3 else ((0,),):
            judge(device, op, attributes(op, axes=axes), x)

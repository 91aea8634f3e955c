"""Reductions and scans on the Vulkan device have the oracle's bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracle.run import attributes
from tests.oracle.values import EDGES, Array, anything, bits, bools, ints, rough
from tests.vulkan.family import cases, halved
from tests.vulkan.single import Source, judge
from vkml_core.backend import Device
from vkml_core.ops.spec import Kind
from vkml_core.shapes import View

AXES = ((), (0,), (1,), (3,), (0, 2), (1, 3), (0, 1, 2, 3))
EXTREMES = ("amax", "amin")
FOLDS = ("sum", "prod", *EXTREMES)
BY_AXIS = ("argmax", "argmin", "cumsum")


def numbers(name: str, *shape: int) -> list[Array]:
    """Give one array of every dtype that sums."""
    x = rough(name, *shape)
    return [x, halved(x), *(bits(name, *shape, dtype=t) for t in (np.int32, np.int64))]


@pytest.mark.parametrize(("op", "attrs", "arrays"), cases(Kind.REDUCE, Kind.SCAN))
def test_the_cases_of_the_oracle(
    device: Device, op: str, attrs: Any, arrays: tuple[Array, ...]
) -> None:
    judge(device, op, attrs, *arrays)


@pytest.mark.parametrize("n", [n for n in EDGES if n])
@pytest.mark.parametrize("op", FOLDS)
def test_sizes_around_lanes_and_chunks(device: Device, op: str, n: int) -> None:
    for x in numbers(op, 3, n):
        judge(device, op, attributes(op, axes=(1,)), x)
        judge(device, op, attributes(op, axes=(0,)), x)


@pytest.mark.parametrize("n", [n for n in EDGES if n])
@pytest.mark.parametrize("op", BY_AXIS)
def test_scans_around_chunks(device: Device, op: str, n: int) -> None:
    for x in numbers(op, 3, n):
        for axis in (0, 1):
            judge(device, op, attributes(op, axis=axis), x)


@pytest.mark.parametrize("op", ["sum", "prod", "cumsum"])
def test_nothing_to_add(device: Device, op: str) -> None:
    for x in numbers(op, 3, 0, 2):
        attrs = {"axis": 1} if op == "cumsum" else {"axes": (1,)}
        judge(device, op, attributes(op, **attrs), x)


@pytest.mark.parametrize("op", ["sum", "amax"])
def test_three_levels_of_chunks(device: Device, op: str) -> None:
    x = rough(op, 2**20 + 1500)
    judge(device, op, attributes(op, axes=(0,)), x)
    judge(device, op, attributes(op, axes=(0,)), halved(x))


def test_a_product_of_many_levels(device: Device) -> None:
    x = (bits("p", 5 * 1024 + 3) % np.uint32(2**20)).view(np.int32)
    near_one = (x + np.int32(0x3F800000 - 2**19)).view(np.float32)
    judge(device, "prod", attributes("prod", axes=(0,)), near_one)


@pytest.mark.parametrize("axes", AXES, ids=str)
@pytest.mark.parametrize("op", FOLDS)
def test_strange_layouts(device: Device, op: str, axes: tuple[int, ...]) -> None:
    for x in numbers(op, 3, 5, 2, 7):
        judge(device, op, attributes(op, axes=axes), Source.strange(x))


@pytest.mark.parametrize("axis", range(4))
@pytest.mark.parametrize("op", BY_AXIS)
def test_strange_layouts_by_axis(device: Device, op: str, axis: int) -> None:
    for x in numbers(op, 3, 5, 2, 7):
        judge(device, op, attributes(op, axis=axis), Source.strange(x))


def test_the_sum_of_a_repeated_element(device: Device) -> None:
    memory = rough("m", 5)
    judge(device, "sum", attributes("sum", axes=(1,)), Source(memory, View((5, 1500), (1, 0))))


@pytest.mark.parametrize("op", EXTREMES)
def test_extremes_of_bools(device: Device, op: str) -> None:
    for n in (1, 5, 33, 1025):
        judge(device, op, attributes(op, axes=(1,)), bools(op, 7, n))


@pytest.mark.parametrize("op", [*EXTREMES, "argmax", "argmin"])
def test_ties_and_special_values(device: Device, op: str) -> None:
    signed_zeros = np.where(bools("z", 9, 65), np.float32(0.0), np.float32(-0.0))
    few = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45], np.float32)
    mixed = few[ints(op, 0, 6, 40, 33)]
    infinite = np.full((3, 40), -np.inf if "max" in op else np.inf, np.float32)
    attrs = {"axis": 1} if op.startswith("arg") else {"axes": (1,)}
    for x in (signed_zeros, mixed, mixed[mixed == mixed][None], infinite, anything(op, 20, 50)):
        judge(device, op, attributes(op, **attrs), x)
        judge(device, op, attributes(op, **attrs), halved(x))

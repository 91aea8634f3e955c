"""Reductions and scans on the Vulkan device have the oracle's bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.oracle.run import attributes
from tests.oracle.values import EDGES, Array, anything, bits, bools, ints, rough
from tests.vulkan.family import cases, halved
from tests.vulkan.single import Source, judge
from vkml_backend_vulkan.lower import reduce_quads
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


LIES: dict[str, Callable[[int], View]] = {
    "one row": lambda n: View((n,), (1,)),
    "one row from the fifth element": lambda n: View((n,), (1,), 4),
    "one row from the second element": lambda n: View((n,), (1,), 1),
    "rows": lambda n: View((3, n), (n, 1)),
    "rows apart": lambda n: View((3, n), (n + 12, 1), 8),
    "rows apart by no multiple of four": lambda n: View((3, n), (n + 2, 1)),
    "rows backwards": lambda n: View((3, n), (-n, 1), 2 * n),
    "the same row again": lambda n: View((3, n), (0, 1)),
    "elements backwards": lambda n: View((3, n), (n, -1), n - 1),
}


@pytest.mark.parametrize("lies", LIES)
@pytest.mark.parametrize("n", [127, 128, 129, 132, 1000, 1022, 1024, 1028, 2051, 5000])
@pytest.mark.parametrize("op", FOLDS)
def test_elements_side_by_side(device: Device, op: str, n: int, lies: str) -> None:
    """Read four at a time where they lie so, and the last one, two or three of a row."""
    view = LIES[lies](n)
    attrs = attributes(op, axes=(len(view.shape) - 1,))
    for memory in numbers(op, 3 * (n + 16)):
        judge(device, op, attrs, Source(memory, view))


@pytest.mark.parametrize("image", [(2, 2), (3, 4), (6, 6), (1, 32), (7, 4), (12, 12), (32, 32)])
@pytest.mark.parametrize("op", ["sum", "amin"])
def test_the_channels_of_images(device: Device, op: str, image: tuple[int, int]) -> None:
    """Two reduced axes with another between them; chunks begin anywhere in an image."""
    for batch in (1, 31, 33):
        x = rough("bias", batch, 5, *image)
        judge(device, op, attributes(op, axes=(0, 2, 3)), x)
        judge(device, op, attributes(op, axes=(1, 2, 3)), x)
        judge(device, op, attributes(op, axes=(0, 2)), x)
        judge(device, op, attributes(op, axes=(0, 2, 3)), Source.strange(x))


@pytest.mark.parametrize("n", [1, 32, 33, 127, 128, 1023, 1024, 1025, 2048, 100_000])
def test_a_sum_is_never_negative_zero(device: Device, n: int) -> None:
    """Each sum begins with +0, though drivers take 0 + x for x where they see it."""
    for x in (np.full((2, n), -0.0, np.float32), np.full((2, n), -0.0, np.float16)):
        for axis in (0, 1):
            assert not np.signbit(judge(device, "sum", attributes("sum", axes=(axis,)), x)).any()


def test_special_values_four_at_a_time(device: Device) -> None:
    few = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-45, -1.0], np.float32)
    zeros = np.full((2, 1, 2048), -0.0, np.float32)
    rows = few[ints("few", 3, 7, 40, 1, 132)]
    for x in (
        zeros,
        zeros[:, :, :132],
        zeros[:1, :, :131],
        few[ints("mixed", 0, 7, 9, 1, 1100)],
        rows,
        anything("any", 9, 1, 1100),
    ):
        for op in FOLDS:
            judge(device, op, attributes(op, axes=(1, 2)), x)


@pytest.mark.parametrize("n", [1024 * 1024 + 4, 2 * 1024 * 1024 + 1027])
@pytest.mark.parametrize("op", FOLDS)
def test_the_rest_by_a_workgroup(device: Device, op: str, n: int) -> None:
    near_one = (bits(op, 2, n) % np.uint32(2**12) + np.uint32(0x3F800000 - 2**11)).view(np.float32)
    for x in (near_one, bits(op, 2, n, dtype=np.int32)):
        judge(device, op, attributes(op, axes=(1,)), x)
    halves = (near_one if op == "prod" else rough(op, 2, n)).astype(np.float16)
    judge(device, op, attributes(op, axes=(1,)), halves)


def test_more_than_a_workgroup_takes(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reduce_quads, "MOST_OF_A_GROUP", 1025)
    for n in (1025 * 1024, 1027 * 1024 - 3):
        judge(device, "sum", attributes("sum", axes=(0,)), rough("s", n))


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

"""Copies, cat, pad and generated tensors on the Vulkan device have the oracle's bits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from tests.oracle.run import assert_same_bits, attributes, canonical, run
from tests.oracle.values import Array, bits, ints, number
from tests.vulkan.family import DTYPES, cases, values
from tests.vulkan.single import Source, judge, plan_of
from vkml_core.backend import Device
from vkml_core.ops.spec import Kind
from vkml_core.plan import SlotKind
from vkml_core.shapes import View


@pytest.mark.parametrize(("op", "attrs", "arrays"), cases(Kind.MOVE, Kind.GENERATE))
def test_the_cases_of_the_oracle(
    device: Device, op: str, attrs: Any, arrays: tuple[Array, ...]
) -> None:
    judge(device, op, attrs, *arrays)


@pytest.mark.parametrize("dtype", DTYPES)
def test_copies_of_strange_layouts(device: Device, dtype: Any) -> None:
    x = values("x", 3, 5, 2, 7, dtype=dtype)
    assert_same_bits(judge(device, "contiguous", None, Source.strange(x)), canonical(x))
    memory = values("m", 24, dtype=dtype)
    repeated = Source(memory, View((4, 3, 5), (5, 0, 1), 2))
    judge(device, "contiguous", None, repeated)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 2, 0, 6), (5, 8), (7,), (4, 1, 9)], ids=str)
@pytest.mark.parametrize("axis", [0, 1, 2, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_cat_of_odd_sizes(device: Device, dtype: Any, axis: int, sizes: tuple[int, ...]) -> None:
    """Inputs meet inside of words, and inside of the four results of an invocation."""
    shapes = [tuple(n if k == axis else d for k, d in enumerate((1, 2, 3, 3))) for n in sizes]
    parts = [values(f"p{i}", *s, dtype=dtype) for i, s in enumerate(shapes)]
    judge(device, "cat", attributes("cat", axis=axis), *parts)
    judge(device, "cat", attributes("cat", axis=axis), *map(Source.strange, parts))


@pytest.mark.parametrize("interior", [0, 1, 3])
@pytest.mark.parametrize("dtype", DTYPES)
def test_pad_of_odd_sizes(device: Device, dtype: Any, interior: int) -> None:
    x = values("x", 2, 3, 1, 5, dtype=dtype)
    value = Source(values("v", 7, dtype=dtype), View((), (), 5))
    sizes = {"low": (0, 1, 2, 0), "high": (1, 0, 0, 3), "interior": (interior,) * 4}
    judge(device, "pad", attributes("pad", **sizes), Source.strange(x), value)


def test_random_bits_of_many_elements(device: Device) -> None:
    seed, offset = (bits(name, dtype=np.int64) for name in ("seed", "offset"))
    for shape in ((4099,), (31, 1), (2, 3, 5, 7)):
        judge(device, "random_bits", attributes("random_bits", shape=shape, bits=24), seed, offset)


def test_arange_wraps(device: Device) -> None:
    for length in (1, 2, 3, 5, 1001):
        attrs = attributes("arange", length=length)
        judge(device, "arange", attrs, number(2**63 - 7), number(2**62 + 3))


def test_numbers_from_the_host(device: Device) -> None:
    attrs = attributes("arange", length=7)
    numbers = (number(-3), number(2**40))
    plan = plan_of("arange", attrs, [Source.plain(x) for x in numbers])
    slots = [replace(s, kind=SlotKind.SCALAR) for s in plan.slots[:2]]
    plan = replace(plan, slots=(*slots, plan.slots[2]), inputs=(), scalars=(0, 1))
    (out,) = device.compile(plan).run((), (-3, 2**40))
    got = device.download(out, (7,), plan.slots[2].dtype)
    assert_same_bits(got, run("arange", attrs, *numbers))


def test_a_pad_value_from_the_host(device: Device) -> None:
    for dtype in DTYPES:
        x = values("x", 3, 3, dtype=dtype)
        value = ints("v", 0, 2, dtype=dtype) if dtype is not np.bool_ else np.array(True)
        attrs = attributes("pad", low=(1, 0), high=(0, 2), interior=(0, 1))
        plan = plan_of("pad", attrs, [Source.plain(x), Source.plain(value)])
        scalar = replace(plan.slots[1], kind=SlotKind.SCALAR)
        plan = replace(plan, slots=(plan.slots[0], scalar, plan.slots[2]))
        plan = replace(plan, inputs=(0,), scalars=(1,))
        want = judge(device, "pad", attrs, x, value)
        (out,) = device.compile(plan).run([device.upload(canonical(x))], (value.item(),))
        got = device.download(out, want.shape, plan.slots[2].dtype)
        assert_same_bits(got, want)

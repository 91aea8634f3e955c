"""Kernels that read a table: an invocation with eight elements gives the bits of two with four."""

from __future__ import annotations

from collections.abc import Callable

import needs_vulkan  # noqa: F401
import numpy as np
import pytest

import vkml
from tests.oracle.values import rough
from tests.vulkan.test_rows import same
from vkml_backend_vulkan.device import VulkanDevice
from vkml_backend_vulkan.lower import fused
from vkml_core.dtypes import float32
from vkml_core.plan import Call, Operand, Slot, SlotKind
from vkml_core.shapes import View
from vkml_core.tensor import Tensor

SIZES = (1, 511, 512, 513, 1024, 1025, 1500, 2049)
"""Elements around one and two quads for each of 128 invocations, and of two workgroups."""
LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "in order": lambda x: x,
    "from an odd place on": lambda x: x.reshape(-1)[1:],
    "transposed": lambda x: x.T,
    "every other": lambda x: x[:, ::2],
    "reversed": lambda x: x.flip(0),
    "one row for all": lambda x: x[:1].expand(*x.shape),
    "one element for each row": lambda x: x[:, :1].expand(*x.shape),
    "one for all": lambda x: x[:1, :1].expand(*x.shape),
}


@pytest.fixture(autouse=True)
def _small_is_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fused, "MANY", 1)


@pytest.mark.parametrize(
    ("op", "many", "is_double"), [("exp", 512, True), ("exp", 1024, False), ("sqrt", 512, False)]
)
def test_which_kernels_have_eight(
    device: VulkanDevice, monkeypatch: pytest.MonkeyPatch, op: str, many: int, is_double: bool
) -> None:
    monkeypatch.setattr(fused, "MANY", many)
    shape = (1000,)
    slots = [Slot(0, SlotKind.INPUT, shape, float32), Slot(1, SlotKind.OUTPUT, shape, float32)]
    calls = tuple(Call(o, None, (a,), shape, float32) for o, a in ((op, 0), ("neg", -1)))
    work = fused.Work(calls, (Operand(0, View.of(shape)),), ((1, 1),))
    (dispatch,) = fused.lower(work, slots, device.physical.limits).dispatches
    assert dispatch.constants[2] == is_double
    assert dispatch.groups[0] == (1 if is_double else 2)


@pytest.mark.parametrize("n", SIZES)
def test_sizes(name: str, n: int) -> None:
    x, y = rough("x", n), abs(rough("y", n)) + np.float32(0.5)
    assert same(name, lambda a, _: [a.exp()], x, y) == 1
    same(name, lambda a, b: [(a * b).sigmoid() - b.log() / (a.tanh() + 2)], x, y)
    assert same(name, lambda a, b: [b.log(), b.log() * a], x, y) <= 2


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(name: str, layout: str) -> None:
    view = LAYOUTS[layout]

    def program(a: Tensor, b: Tensor) -> list[Tensor]:
        return [view(a).exp(), view(a).exp() * view(b).to(vkml.float16).sqrt().to(vkml.float32)]

    same(name, program, rough("x", 40, 64), abs(rough("y", 40, 64)))


def test_what_the_first_phases_leave_open(name: str) -> None:
    """Arguments whose rounding is open, those that are special, and ordinary ones beside them."""
    rng = np.random.default_rng(3)
    x = rng.uniform(-87, 87, 1 << 16).astype(np.float32)
    x[:: 1 << 10] = np.resize(np.array([np.nan, np.inf, -np.inf, 0, -0.0, 88, 89, -104, 1e-30]), 64)
    same(name, lambda a: [a.exp(), vkml.softmax(a.reshape(256, 256), -1)], x.astype(np.float32))


@pytest.mark.parametrize("above", [1, 2, 3, 6, 20, 28])
def test_logarithms_next_to_1(name: str, above: int) -> None:
    """Those of 1 + 6 units, say, nearly lie between two floats."""
    one = np.full(700, 1, np.float32).view(np.int32)
    same(name, lambda a: [a.log(), a.log2()], (one + above).view(np.float32))

"""Fused steps have the bits of their single calls, on whatever layouts and dtypes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.oracle.run import assert_same_bits, canonical
from tests.oracle.values import Array
from tests.vulkan.family import values
from tests.vulkan.fused_maker import Maker
from tests.vulkan.level import flushes
from vkml_backend_cpu.backend import backend as oracle
from vkml_backend_vulkan.lower import merge
from vkml_core.backend import Device
from vkml_core.dtypes import DType, float32, int32, int64
from vkml_core.errors import DivisionError
from vkml_core.plan import Call, Operand, Plan, Slot, SlotKind, Step
from vkml_core.schedule.hazards import add_barriers
from vkml_core.shapes import Shape, View, contiguous_strides
from vkml_core.verify import verify


def run(device: Device, plan: Plan, memory: Sequence[Array]) -> list[Array]:
    buffers = [device.upload(canonical(m)) for m in memory]
    slots = [plan.slots[s] for s in plan.outputs]
    results = device.compile(plan).run(buffers, ())
    return [device.download(b, s.shape, s.dtype) for b, s in zip(results, slots, strict=True)]


def compare(device: Device, made: Maker) -> None:
    one, many = made.plans()
    verify(one)
    verify(many)
    with np.errstate(all="ignore"):
        (want,) = run(oracle.open(0), many, made.memory)
    for plan in (one, many):
        (got,) = run(device, plan, made.memory)
        assert_same_bits(got, want)


@pytest.fixture
def exact(device: Device) -> Device:
    if flushes(device):
        pytest.skip("random bits hold subnormals, which this device flushes")
    return device


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(exact: Device, seed: int) -> None:
    compare(exact, Maker(seed, 2 + seed % 9))


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_with_long_functions(exact: Device, seed: int) -> None:
    compare(exact, Maker(seed + 1000, 3, slow=True))


def chain(shape: Shape, count: int, dtype: DType = float32) -> tuple[Plan, list[Array]]:
    """A step that adds up `count` operands, each expanded along another axis."""
    memory = [values(f"sum {i}", *shape, dtype=dtype.numpy.type) for i in range(count)]
    slots = [Slot(i, SlotKind.INPUT, shape, dtype) for i in range(count)]
    strides = contiguous_strides(shape)
    views = [
        View(shape, tuple(0 if k == i % len(shape) else s for k, s in enumerate(strides)))
        for i in range(count)
    ]
    calls = [Call("add", None, (0, 1), shape, dtype)]
    calls += [Call("add", None, (-k - 1, k + 2), shape, dtype) for k in range(count - 2)]
    step = Step(tuple(calls), tuple(map(Operand, range(count), views)), count)
    slots.append(Slot(count, SlotKind.OUTPUT, shape, dtype))
    return Plan(tuple(slots), (step,), tuple(range(count)), (), (count,)), memory


def test_what_does_not_fit_is_cut(device: Device) -> None:
    plan, memory = chain((3, 2, 4, 5), 12, int32)
    lowered = fused_lowered(device, plan)
    assert 1 < len(lowered.dispatches) < 6
    assert all(8 * len(d.pointers) + len(d.push) <= 128 for d in lowered.dispatches)
    (got,) = run(device, plan, memory)
    strides = [o.view.strides for o in plan.steps[0].operands]
    seen = [
        m[tuple(slice(0, 1) if s == 0 else slice(None) for s in of)]
        for m, of in zip(memory, strides, strict=True)
    ]
    want = sum(seen[1:], start=seen[0])
    assert_same_bits(got, np.broadcast_to(want, got.shape))


def fused_lowered(device: Any, plan: Plan) -> Any:
    (lowered,) = device.kernels.lowered(plan, device.physical.limits)
    return lowered


def divided(op: str, dtype: DType, *, more: bool) -> Plan:
    """(a + b) op b; with `more` times (a + b)."""
    shape = (6,)
    slots = [Slot(i, SlotKind.INPUT, shape, dtype) for i in range(2)]
    calls = [Call("add", None, (0, 1), shape, dtype), Call(op, None, (-1, 1), shape, dtype)]
    if more:
        calls.append(Call("mul", None, (-2, -1), shape, dtype))
    whole = Operand(0, View.of(shape)), Operand(1, View.of(shape))
    slots.append(Slot(2, SlotKind.OUTPUT, shape, dtype))
    return Plan(tuple(slots), (Step(tuple(calls), whole, 2),), (0, 1), (), (2,))


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("dtype", [int32, int64], ids=str)
@pytest.mark.parametrize("op", ["floor_divide", "remainder"])
def test_what_can_fail_tells_of_the_right_call(
    device: Device, op: str, dtype: DType, more: bool
) -> None:
    plan, a = divided(op, dtype, more=more), np.arange(6, dtype=dtype.numpy)
    with pytest.raises(DivisionError, match=f"{op}: integer division by zero"):
        run(device, plan, [a, np.array([1, 2, 0, 4, 5, 6], dtype.numpy)])
    b = np.array([1, -2, 3, 4, -5, 6], dtype.numpy)
    want = (a + b) // b if op == "floor_divide" else (a + b) % b
    (got,) = run(device, plan, [a, b])
    assert_same_bits(got, want * (a + b) if more else want)


def test_neighbours_are_one_kernel_with_two_results(device: Any) -> None:
    """Momentum: the new velocity is stored and read in one kernel, in place."""
    shape = (129,)
    slots = [Slot(i, k, shape, float32) for i, k in enumerate([SlotKind.STATE] * 2)]
    slots.append(Slot(2, SlotKind.INPUT, shape, float32))
    whole = [Operand(i, View.of(shape)) for i in range(3)]
    velocity = Call("mul", None, (0, 0), shape, float32), Call("add", None, (-1, 1), shape, float32)
    steps = (
        Step(velocity, (whole[0], whole[2]), 0),
        Step((Call("sub", None, (0, 1), shape, float32),), (whole[1], whole[0]), 1),
    )
    plan = add_barriers(Plan(tuple(slots), steps, (0, 1, 2), (), (0, 1)))
    verify(plan)
    first, second = device.kernels.lowered(plan, device.physical.limits)
    assert (len(first.dispatches), len(second.dispatches)) == (0, 1)
    memory = [values(str(i), 129, dtype=np.int32).astype(np.float32) for i in range(3)]
    v, p, g = memory
    velocity_, parameter = run(device, plan, memory)
    assert_same_bits(velocity_, v * v + g)
    assert_same_bits(parameter, p - (v * v + g))


def two_steps(first_read: View, at: int) -> Plan:
    """Slot 0 → slot 1 → slot 2, which is at byte `at` of the arena; slot 0 is at byte 0."""
    places = {0: 0, 1: 512, 2: at}
    slots = tuple(Slot(i, SlotKind.TEMP, (64,), float32, p) for i, p in places.items())
    neg = (Call("neg", None, (0,), (64,), float32),)
    reads = first_read, View.of((64,))
    steps = tuple(Step(neg, (Operand(i, v),), i + 1) for i, v in enumerate(reads))
    return Plan(slots, steps, (), (), ())


@pytest.mark.parametrize(
    ("read", "at", "one"),
    [
        (View.of((64,)), 1024, True),  # other bytes
        (View((64,), (-1,), 63), 1024, True),
        (View.of((64,)), 0, True),  # in place: each invocation overwrites what only it has read
        (View.of((64,)), 128, False),  # what others still read
        (View((64,), (-1,), 63), 0, False),
        (View((64,), (0,)), 0, False),
        (View.of((64,)), 640, False),  # the first result
    ],
)
def test_a_result_over_what_is_still_read_stays_apart(read: View, at: int, one: bool) -> None:
    found = merge.merged(two_steps(read, at))
    assert {i: work and len(work.writes) for i, work in found.items()} == (
        {0: None, 1: 2} if one else {}
    )

"""A backend of four kernels, and plans written by hand to run on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vkml_core.backend import Array
from vkml_core.dtypes import DType, float32
from vkml_core.plan import Call, Operand, Plan, Slot, SlotKind, Step
from vkml_core.shapes import Shape, View
from vkml_core.stepwise import StepwiseDevice

INPUT, SCALAR, STATE = SlotKind.INPUT, SlotKind.SCALAR, SlotKind.STATE
TEMP, OUTPUT = SlotKind.TEMP, SlotKind.OUTPUT
Kernel = Callable[..., Any]


def add(attrs: Any, a: Array, b: Array) -> Array:
    return a + b


def same(attrs: Any, a: Array) -> Array:
    return a


TABLE: dict[str, Kernel] = {
    "add": add,
    "mul": lambda attrs, a, b: a * b,
    "neg": lambda attrs, a: -a,
    "contiguous": same,
}


def device(**rows: Kernel) -> StepwiseDevice:
    return StepwiseDevice("host", "cpu", TABLE | rows, backend="toy")


def plan(slots: Sequence[tuple[SlotKind, Shape, DType]], *steps: Step, outputs: Any) -> Plan:
    made = tuple(Slot(i, k, s, t) for i, (k, s, t) in enumerate(slots))
    bound = tuple(s.index for s in made if s.kind in (INPUT, STATE))
    scalars = tuple(s.index for s in made if s.kind is SCALAR)
    return Plan(made, steps, bound, scalars, tuple(outputs))


def step(
    op: str, views: Sequence[tuple[int, View]], write: int, shape: Shape, dtype: DType
) -> Step:
    operands = tuple(Operand(slot, view) for slot, view in views)
    return Step((Call(op, None, tuple(range(len(views))), shape, dtype),), operands, write)


def run(
    have: StepwiseDevice, what: Plan, *inputs: Array, scalars: Sequence[Any] = ()
) -> list[Array]:
    buffers = have.compile(what).run([have.upload(i) for i in inputs], scalars)
    slots = [what.slots[i] for i in what.outputs]
    return [have.download(b, s.shape, s.dtype) for b, s in zip(buffers, slots, strict=True)]


V4 = View.of((4,))
COPY_4 = [(INPUT, (4,), float32), (OUTPUT, (4,), float32)]

"""Passes that drop work: equal steps are run once, steps that nothing reads not at all."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import Final

from vkml_core.plan import Operand, Plan, SlotKind, Step

_BOUND: Final = (SlotKind.INPUT, SlotKind.SCALAR, SlotKind.STATE)
"""Slots that stay even if nothing uses them, so that bindings do not change."""


def deduplicate(plan: Plan) -> Plan:
    """Run equal steps once: same operations, attributes and operands.

    Random operations too, since their bits are a function of their inputs. Steps that write a
    STATE slot stay; they must come after every step that reads its old value.
    """
    seen: dict[Hashable, int] = {}
    same: dict[int, int] = {}
    slots, steps = list(plan.slots), []
    for step in plan.steps:
        step = rename_reads(step, same)
        state = slots[step.write].kind is SlotKind.STATE
        first = step.write if state else seen.setdefault(_meaning(step), step.write)
        if first == step.write:
            steps.append(step)
            continue
        same[step.write] = first
        if slots[step.write].kind is SlotKind.OUTPUT:
            slots[first] = replace(slots[first], kind=SlotKind.OUTPUT)
    outputs = tuple(same.get(s, s) for s in plan.outputs)
    return compact(replace(plan, slots=tuple(slots), steps=tuple(steps), outputs=outputs))


def _meaning(step: Step) -> Hashable:
    """Give what equal steps share. repr tells 0.0 from −0.0 and 1 from True in attributes."""
    calls = tuple((c.op, repr(c.attrs), c.args, c.shape, c.dtype) for c in step.calls)
    return calls, step.operands


def prune(plan: Plan) -> Plan:
    """Drop steps whose result nothing needs, and the slots that are then unused."""
    needed = {*plan.outputs, *(s.index for s in plan.slots if s.kind is SlotKind.STATE)}
    steps: list[Step] = []
    for step in reversed(plan.steps):
        if step.write in needed:
            steps.append(step)
            needed.update(o.slot for o in step.operands)
    return compact(replace(plan, steps=tuple(reversed(steps))))


def rename_reads(step: Step, names: Mapping[int, int]) -> Step:
    """Read other slots under the same views; operands that become equal are merged."""
    if not any(o.slot in names for o in step.operands):
        return step
    operands: dict[Operand, int] = {}
    moved = [
        operands.setdefault(Operand(names.get(o.slot, o.slot), o.view), len(operands))
        for o in step.operands
    ]
    calls = tuple(
        replace(c, args=tuple(moved[a] if a >= 0 else a for a in c.args)) for c in step.calls
    )
    return Step(calls, tuple(operands), step.write)


def compact(plan: Plan) -> Plan:
    """Drop slots that are neither bound nor written, and number the others from 0."""
    written = {step.write for step in plan.steps}
    kept = [s for s in plan.slots if s.kind in _BOUND or s.index in written]
    if len(kept) == len(plan.slots):
        return plan
    number = {slot.index: i for i, slot in enumerate(kept)}
    steps = tuple(
        replace(
            step,
            operands=tuple(Operand(number[o.slot], o.view) for o in step.operands),
            write=number[step.write],
        )
        for step in plan.steps
    )
    return replace(
        plan,
        slots=tuple(replace(slot, index=number[slot.index]) for slot in kept),
        steps=steps,
        inputs=tuple(number[s] for s in plan.inputs),
        scalars=tuple(number[s] for s in plan.scalars),
        outputs=tuple(number[s] for s in plan.outputs),
    )

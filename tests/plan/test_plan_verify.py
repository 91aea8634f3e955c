"""`verify` finds each kind of mistake that a pass could make, and says which rule it breaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from graphs import leaf, plan_of, training_step

from vkml_core.dtypes import float16
from vkml_core.errors import PlanError
from vkml_core.graph import build
from vkml_core.plan import Barrier, Hazard, Operand, Plan, SlotKind, Step
from vkml_core.schedule.hazards import add_barriers
from vkml_core.shapes import View
from vkml_core.verify import verify

ALIGNMENT = 64


def made(*, fusion: bool = False) -> Plan:
    roots, donated = training_step()
    return plan_of(roots, donated, fusion=fusion, alignment=ALIGNMENT).plan


PLAN, FUSED = made(), made(fusion=True)


def slot_of(plan: Plan, kind: SlotKind) -> int:
    return next(s.index for s in plan.slots if s.kind is kind)


def with_slot(plan: Plan, which: int, /, **changes: Any) -> Plan:
    slots = list(plan.slots)
    slots[which] = replace(slots[which], **changes)
    return replace(plan, slots=tuple(slots))


def with_step(plan: Plan, index: int, **changes: Any) -> Plan:
    steps = list(plan.steps)
    steps[index] = replace(steps[index], **changes)
    return replace(plan, steps=tuple(steps))


def with_call(plan: Plan, step: int, call: int, **changes: Any) -> Plan:
    calls = list(plan.steps[step].calls)
    calls[call] = replace(calls[call], **changes)
    return with_step(plan, step, calls=tuple(calls))


def with_operand(plan: Plan, step: int, **changes: Any) -> Plan:
    first, *others = plan.steps[step].operands
    return with_step(plan, step, operands=(replace(first, **changes), *others))


def find(plan: Plan, wanted: Callable[[Step], bool]) -> int:
    return next(i for i, s in enumerate(plan.steps) if wanted(s))


TEMP, INPUT, SCALAR = (slot_of(PLAN, k) for k in (SlotKind.TEMP, SlotKind.INPUT, SlotKind.SCALAR))
STATE, OUTPUT = slot_of(PLAN, SlotKind.STATE), slot_of(PLAN, SlotKind.OUTPUT)
MATMUL = find(PLAN, lambda s: s.calls[0].op == "matmul")
SUM = find(PLAN, lambda s: s.calls[0].op == "sum")
MUL = find(PLAN, lambda s: s.calls[0].op == "mul" and len(s.operands) == 2)
IN_PLACE = find(PLAN, lambda s: s.write in {o.slot for o in s.operands})
EPILOGUE = find(FUSED, lambda s: s.calls[0].op == "matmul" and len(s.calls) > 2)
LONG = PLAN.slots[PLAN.steps[MATMUL].operands[0].slot].shape
NEVER = Barrier(1, 5, frozenset({Hazard.RAW}))


def overlapping() -> Plan:
    """Move a TEMP onto one that is still to be read, with barriers to match."""
    read = next(
        (i, o.slot)
        for i, s in enumerate(PLAN.steps)
        for o in s.operands
        if PLAN.slots[o.slot].kind is SlotKind.TEMP
        and PLAN.slots[PLAN.steps[i].write].kind is SlotKind.TEMP
    )
    step, slot = read
    moved = with_slot(PLAN, PLAN.steps[step].write, offset=PLAN.slots[slot].offset)
    return add_barriers(moved)


def swapped(i: int, j: int) -> Plan:
    steps = list(PLAN.steps)
    steps[i], steps[j] = steps[j], steps[i]
    return replace(PLAN, steps=tuple(steps))


BROKEN: dict[str, tuple[Plan, str]] = {
    "slot index": (with_slot(PLAN, 3, index=4), "slot 3 says that its index is 4"),
    "stray offset": (with_slot(PLAN, INPUT, offset=0), "is input and has an arena offset"),
    "wide scalar": (with_slot(PLAN, SCALAR, shape=(2,)), "is a scalar of 2 elements"),
    "missing input": (replace(PLAN, inputs=PLAN.inputs[1:]), r"inputs .* are not the slots"),
    "input twice": (replace(PLAN, inputs=(*PLAN.inputs, 0)), r"inputs .* are not the slots"),
    "missing scalar": (replace(PLAN, scalars=()), r"scalars .* are not the slots"),
    "no such output": (replace(PLAN, outputs=(999,)), "output slot 999 does not exist"),
    "temporary output": (replace(PLAN, outputs=(TEMP,)), r"output slot \d+ is temp"),
    "output not returned": (replace(PLAN, outputs=PLAN.outputs[1:]), "kind output but no output"),
    "no such operand": (with_operand(PLAN, 0, slot=999), "step 0: .* slot 999, which does not"),
    "no such write": (with_step(PLAN, 0, write=-1), "step 0: it writes slot -1"),
    "strides": (with_operand(PLAN, MATMUL, view=View(LONG, (1,))), "has 1 strides"),
    "past the end": (
        with_operand(PLAN, MATMUL, view=View(LONG, (LONG[1], 1), 1)),
        f"reads elements 1 to {LONG[0] * LONG[1] + 1} of the",
    ),
    "before the start": (with_operand(PLAN, MATMUL, view=View(LONG, (-1, 1))), "elements -7 to"),
    "no call": (with_step(PLAN, 0, calls=()), "step 0: it has no call"),
    "unknown operation": (with_call(PLAN, 0, 0, op="frobnicate"), "is called 'frobnicate'"),
    "a view as a step": (with_call(PLAN, 0, 0, op="detach"), "of kind view, which no step runs"),
    "arity": (with_call(PLAN, MATMUL, 0, args=(0,)), "matmul takes 2 arguments, got 1"),
    "no such argument": (with_call(PLAN, MATMUL, 0, args=(0, 2)), "which are not all there"),
    "own result": (with_call(PLAN, MATMUL, 0, args=(0, -1)), "which are not all there"),
    "later result": (with_call(FUSED, EPILOGUE, 1, args=(0, -3)), "which are not all there"),
    "unused": (with_call(PLAN, MUL, 0, args=(0, 0)), r"\[1\] are not used"),
    "unused call": (with_call(FUSED, EPILOGUE, 1, args=(2, 2)), r"\[-1\] are not used"),
    "shape": (with_call(PLAN, SUM, 0, shape=(7,)), r"sum gives .* the call says float32\(7,\)"),
    "dtype": (with_call(PLAN, SUM, 0, dtype=float16), "the call says float16"),
    "refused dtype": (with_call(PLAN, SUM, 0, op="bitwise_not"), "does not take float32"),
    "infer": (with_operand(PLAN, MATMUL, view=View((2, 2), (2, 1))), "matmul: inner sizes differ"),
    "late head": (
        with_call(FUSED, EPILOGUE, 1, op="matmul"),
        "call 1 .* kind matmul, which cannot be fused there",
    ),
    "fused shape": (with_call(FUSED, EPILOGUE, 1, shape=(1,)), r"has shape \(1,\), the step"),
    "result": (with_slot(PLAN, PLAN.steps[0].write, shape=(1,)), "step 0: it gives"),
    "read too early": (swapped(0, 1), r"step 0: it reads slot \d+ before it is written"),
    "written twice": (
        with_step(PLAN, 2, write=PLAN.steps[1].write),
        r"step 2: it writes slot \d+ a second time",
    ),
    "never written": (replace(PLAN, steps=PLAN.steps[:-1]), "is state and never written"),
    "written input": (
        with_slot(PLAN, PLAN.steps[IN_PLACE].write, kind=SlotKind.INPUT),
        r"it writes slot \d+, input",
    ),
    "moved in place": (
        with_operand(
            PLAN,
            IN_PLACE,
            view=View(PLAN.steps[IN_PLACE].calls[0].shape, (0, 0)[: len(LONG)]),
            slot=PLAN.steps[IN_PLACE].write,
        ),
        r"it overwrites slot \d+ while it reads other elements of it",
    ),
    "unplaced": (with_slot(PLAN, TEMP, offset=None), "has no place in the arena"),
    "unaligned": (with_slot(PLAN, TEMP, offset=4), "is at 4, not aligned to 64"),
    "outside": (replace(PLAN, arena=PLAN.arena - 64), f"outside the arena of {PLAN.arena - 64}"),
    "overlap": (overlapping(), "has lost bytes to a later slot when it is read"),
    "impossible barrier": (replace(PLAN, barriers=(NEVER,)), "barrier 5 → 1 .* is not possible"),
}


@pytest.mark.parametrize("plan", [PLAN, FUSED], ids=["plain", "fused"])
def test_sound_plans_pass(plan: Plan) -> None:
    verify(plan, alignment=ALIGNMENT)


@pytest.mark.parametrize("name", BROKEN)
def test_a_planted_mistake_is_found(name: str) -> None:
    plan, message = BROKEN[name]
    with pytest.raises(PlanError, match=message):
        verify(plan, alignment=ALIGNMENT)


@pytest.mark.parametrize("plan", [PLAN, FUSED], ids=["plain", "fused"])
def test_every_barrier_is_needed_whole(plan: Plan) -> None:
    """Without it, waiting for less or later, or serving a hazard less, a conflict is uncovered."""
    for k, barrier in enumerate(plan.barriers):
        others = (*plan.barriers[:k], *plan.barriers[k + 1 :])
        weaker = [(), (replace(barrier, before=barrier.before + 1),)]
        weaker += [(replace(barrier, after=barrier.after - 1),)] if barrier.after else []
        for hazard in barrier.hazards - {Hazard.WAR}:
            weaker.append((replace(barrier, hazards=barrier.hazards - {hazard} | {Hazard.WAR}),))
        for instead in weaker:
            if all(b.before < len(plan.steps) for b in instead):
                with pytest.raises(PlanError, match="no barrier covers"):
                    verify(replace(plan, barriers=(*others, *instead)))


def test_a_state_read_after_its_write_needs_a_barrier() -> None:
    w = leaf(3)
    new = build.assign(w, w * 0.5)
    plan = plan_of([new, build.exp(new)], [w]).plan
    assert plan.barriers == (Barrier(1, 0, frozenset({Hazard.RAW})),)
    with pytest.raises(PlanError, match=r"step 1: no barrier covers RAW \(read after write\)"):
        verify(replace(plan, barriers=()))


def test_an_overwritten_state_waits_for_its_readers() -> None:
    w = leaf(3)
    plan = plan_of([build.sin(w), build.assign(w, leaf(3))], [w]).plan
    assert plan.barriers == (Barrier(1, 0, frozenset({Hazard.WAR})),)
    with pytest.raises(PlanError, match=r"step 1: no barrier covers WAR \(write after read\)"):
        verify(replace(plan, barriers=()))


def test_plans_between_passes_need_no_arena_and_no_barriers() -> None:
    slots = tuple(replace(s, offset=None) for s in PLAN.slots)
    bare = replace(PLAN, slots=slots, arena=0, barriers=())
    verify(bare, final=False)
    with pytest.raises(PlanError, match="has no place in the arena"):
        verify(bare)


def test_operands_that_are_not_read_are_found() -> None:
    operands = (*PLAN.steps[0].operands, Operand(INPUT, View((1,), (1,))))
    with pytest.raises(PlanError, match=r"operands or calls \[\d\] are not used"):
        verify(with_step(PLAN, 0, operands=operands))

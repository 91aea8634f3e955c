"""Pass that moves steps up to what they need, so that what may run side by side stands together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Plan, SlotKind, Step
from vkml_core.schedule.group import can_fail

SMALL: Final = 256 << 10
"""Bytes that a step reads and writes up to which it moves: it takes no longer than the launch of
another, and what it makes may be kept for long."""
_MOVABLE: Final = frozenset({Kind.ELEMENTWISE, Kind.REDUCE})


def move_up(plan: Plan) -> Plan:
    """Move small steps that come after what has to wait for longer up to the last step that they
    need, and the steps that go on with it.

    So what a loss makes of the labels comes before the network, beside which it can run, and no
    kernel that takes in neighbouring steps has to wait because of one of them. Steps that can
    fail keep their order, and what is no TEMP is written where it was.
    """
    early = _early(plan)
    places: list[int] = []  # the number of the step that each comes after; its own if it stays
    made: dict[int, int] = {}  # the run of steps after which a slot is there, by its first step
    ends: dict[int, int] = {}  # the last step of each run
    run, inside = -1, set[int]()
    for i, step in enumerate(plan.steps):
        if early[i]:
            made[step.write] = max((made.get(s, -1) for s in _read(step)), default=-1)
            places.append(ends.get(made[step.write], -1))
            continue
        if not _goes_on(step, inside):
            run, inside = i, set()
        inside.add(step.write)
        made[step.write], ends[run] = run, i
        places.append(i)
    return replace(plan, steps=tuple(plan.steps[i] for i in _by(places)))


def _read(step: Step) -> set[int]:
    """Give the slots of a step's operands, empty ones too: a plan's steps come after what they
    read whether or not there is anything in it.
    """
    return {operand.slot for operand in step.operands}


def _by(places: Sequence[int]) -> list[int]:
    return sorted(range(len(places)), key=places.__getitem__)


def _early(plan: Plan) -> list[bool]:
    """Tell which steps move: not one that the next step, which stays, goes on with."""
    found: list[bool] = []
    before = 0
    for step, depth in zip(plan.steps, _depths(plan), strict=True):
        found.append(depth < before and _is_movable(plan, step))
        before = before if found[-1] else depth
    for i in reversed(range(len(found) - 1)):
        follows = _goes_on(plan.steps[i + 1], {plan.steps[i].write})
        found[i] = found[i] and (found[i + 1] or not follows)
    return found


def _goes_on(step: Step, made: set[int]) -> bool:
    """Whether a step does something element by element with what was just made."""
    return REGISTRY[step.calls[0].op].kind is Kind.ELEMENTWISE and not made.isdisjoint(_read(step))


def _is_movable(plan: Plan, step: Step) -> bool:
    slots = [plan.slots[s] for s in (step.write, *_read(step))]
    return (
        sum(s.nbytes for s in slots) <= SMALL
        and slots[0].kind is SlotKind.TEMP
        and REGISTRY[step.calls[0].op].kind in _MOVABLE
        and not can_fail(step)
    )


def _depths(plan: Plan) -> Iterator[int]:
    """Give how many steps have to run one after the other until each has."""
    made: dict[int, int] = {}
    for step in plan.steps:
        depth = 1 + max((made.get(s, 0) for s in _read(step)), default=0)
        made[step.write] = depth
        yield depth

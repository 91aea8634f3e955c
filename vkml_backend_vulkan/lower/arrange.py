"""A plan in another order: the steps of a group side by side, and temporary values placed anew.

What only a group reads of its own results has no place: it is never in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vkml_backend_vulkan.dispatch import Limits
from vkml_backend_vulkan.lower.row_forms import Form
from vkml_backend_vulkan.lower.row_groups import Group, Uses, groups, needs, work_of
from vkml_core.plan import Plan, SlotKind, Step
from vkml_core.plan_rules import add_barriers, place


@dataclass(frozen=True, slots=True)
class Run:
    """Neighbouring steps that one kernel for rows does."""

    steps: range
    form: Form


def arranged(
    plan: Plan, limits: Limits, *, alignment: int, page: int
) -> tuple[Plan, tuple[Run, ...]]:
    """Give a plan that computes the same, and its groups; the plan itself if it has none."""
    found = groups(plan, limits)
    if not found:
        return plan, ()
    units = _in_order(plan, found)
    steps = tuple(plan.steps[i] for unit in units for i in unit)
    moved = replace(plan, steps=steps, barriers=())
    runs = tuple(_runs(units, found))
    return add_barriers(_placed(moved, runs, alignment, page)), runs


def _in_order(plan: Plan, found: Sequence[Group]) -> list[tuple[int, ...]]:
    """Give groups and single steps in an order in which each comes after what it needs, a group
    where its last step was or soon after.
    """
    direct = needs(plan)
    grouped = {i for group in found for i in group.steps}
    single = ((i,) for i in range(len(plan.steps)) if i not in grouped)
    waiting = sorted((*single, *(group.steps for group in found)), key=max)
    done: set[int] = set()
    units: list[tuple[int, ...]] = []
    while waiting:
        ready = next(u for u in waiting if all(direct[i] <= done | set(u) for i in u))
        waiting.remove(ready)
        units.append(ready)
        done.update(ready)
    return units


def _runs(units: Sequence[tuple[int, ...]], found: Sequence[Group]) -> Iterator[Run]:
    forms = {group.steps: group.form for group in found}
    start = 0
    for unit in units:
        if unit in forms:
            yield Run(range(start, start + len(unit)), forms[unit])
        start += len(unit)


def _placed(plan: Plan, runs: Sequence[Run], alignment: int, page: int) -> Plan:
    """Place temporary values. What a group reads lives until all of it is done, so that it never
    writes where it still reads. What has no place is noted past the end, where nothing is.
    """
    stand_in = place(_stand_in(plan, runs), alignment=alignment, page=page, apart=True)
    at = stand_in.arena
    slots = []
    written = {step.write for step in stand_in.steps}
    for slot in stand_in.slots:
        if slot.kind is SlotKind.TEMP and slot.index not in written:
            slot, at = replace(slot, offset=at), at + slot.nbytes
        slots.append(slot)
    return replace(plan, slots=tuple(slots), arena=stand_in.arena, notes=stand_in.notes)


def _stand_in(plan: Plan, runs: Sequence[Run]) -> Plan:
    """Give a plan with a step for each stored result of a group, that reads all it reads."""
    uses, starts = Uses.of(plan), {run.steps.start: run.steps for run in runs}
    steps: list[Step] = []
    i = 0
    while i < len(plan.steps):
        group = starts.get(i, range(i, i + 1))
        if i in starts:
            work = work_of(plan, group, uses)
            steps += (Step((), work.operands, slot) for slot, _ in work.writes)
        else:
            steps.append(plan.steps[i])
        i = group.stop
    return replace(plan, steps=tuple(steps))

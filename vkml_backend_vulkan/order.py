"""In which order the dispatches of a plan run: each as early as what it needs, beside others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vkml_backend_vulkan.dispatch import ERRORS, Dispatch, Lowered
from vkml_backend_vulkan.mirrored import small_results
from vkml_core.plan import Plan, SlotKind
from vkml_core.plan_rules import dependencies

OWN_SCRATCH: Final = 4 << 20
"""Bytes of scratch up to which a step has its own, so that it may run beside others."""
ALL_OWN_SCRATCH: Final = 32 << 20
"""The same for all steps of a plan together."""
FILLS: Final = 1 << 18
"""Invocations that fill a large device: two such kernels side by side only share its caches."""
FEW: Final = 128
"""Workgroups below which most of a large device has nothing to do."""
CHECK_LEVELS: Final = 2
"""Levels that checks may have to themselves; in each a large device has little to do."""
_SCRATCH, _DEVICE = "scratch", "device"
"""What dispatches take turns with: scratch that steps share, and a device that one fills."""


@dataclass(frozen=True, slots=True)
class Flat:
    """One dispatch of one step, and whether it waits for those before it."""

    step: int
    dispatch: Dispatch
    barrier: bool


def flatten(
    plan: Plan, lowered: Sequence[Lowered], *, checks_first: bool = False
) -> Iterator[Flat]:
    """List the dispatches that do something, level by level: those of one level run side by side,
    and wait for the level before. Each is as early as what it needs itself allows, but small ones
    that the host does not wait for as late as what needs them: a level takes as long as its longest
    dispatch, and a large one later hides them. Those of a step run one after the other, but that
    none waits for one that only reports errors. The copy of a plan's numbers, which comes first,
    runs beside the first level.

    With `checks_first` what can fail, and what that needs, has levels of its own before all else,
    so that the host is told as early as can be; but not where these are many, nor where it shares
    scratch with other steps, which would overwrite what it leaves there for its own step.
    """
    nodes = _nodes(plan, lowered)
    checks = _leading_to(nodes, {ERRORS})
    levels = _levels(nodes, set())
    if checks_first and not any(_SCRATCH in nodes[i].takes for i in checks):
        first = _levels(nodes, checks)
        levels = first if len({first[i] for i in checks}) <= CHECK_LEVELS else levels
    levels = _small_ones_late(nodes, levels, _leading_to(nodes, {ERRORS, *small_results(plan)}))
    last = 0
    for i in sorted(range(len(nodes)), key=levels.__getitem__):
        yield Flat(nodes[i].place, nodes[i].dispatch, levels[i] > last)
        last = levels[i]


@dataclass(frozen=True, slots=True)
class _Node:
    """A dispatch, and what has to come before it."""

    place: int
    """The step in whose place it runs."""
    dispatch: Dispatch
    waits: frozenset[int]
    """Earlier ones that have to be finished."""
    takes: frozenset[str]
    """What it takes turns with others for."""
    least: int
    """Its level if it has to wait for nothing."""


def _nodes(plan: Plan, lowered: Sequence[Lowered]) -> list[_Node]:
    """List the dispatches in the order of the plan."""
    nodes: list[_Node] = []
    ends: list[frozenset[int]] = []
    places, groups = _groups(lowered)
    owns = own_scratch(lowered)
    numbers = {s.index for s in plan.slots if s.kind is SlotKind.SCALAR}
    for place, group, needs in zip(places, groups, dependencies(plan, groups), strict=True):
        dispatches = [d for d in lowered[place].dispatches if 0 not in d.groups]
        written = {plan.steps[k].write for k in group}
        own = range(len(nodes), len(nodes) + len(dispatches))
        waits = _waits(own, dispatches, written, needs, ends)
        for d, before in zip(dispatches, waits, strict=True):
            least = 0 if _slots(d).isdisjoint(numbers) else 1
            nodes.append(_Node(place, d, before, _takes(d, owns[place]), least))
        touched = set[int]().union(*map(_slots, dispatches))
        unmet = (ends[n] for n, why in needs.items() if touched.isdisjoint(why))
        ends.append(frozenset(own).union(*unmet))
    return nodes


def _waits(
    own: range,
    dispatches: Sequence[Dispatch],
    written: set[int],
    needs: Mapping[int, set[int]],
    ends: Sequence[frozenset[int]],
) -> Iterator[frozenset[int]]:
    """Give what each dispatch of a group of steps waits for. The group `needs` earlier ones, each
    because of slots; only a dispatch that touches one of these waits for what ends that group.
    """
    before = frozenset[int]()
    for i, dispatch in zip(own, dispatches, strict=True):
        slots = _slots(dispatch)
        found = (ends[n] for n, why in needs.items() if not slots.isdisjoint(why))
        reports = _only_reports(dispatch, written)
        yield frozenset[int]().union(*found, () if reports else before)
        before = before if reports else frozenset({i})


def _slots(dispatch: Dispatch) -> set[int]:
    return {p.slot for p in dispatch.pointers}


def _leading_to(nodes: Sequence[_Node], slots: set[int]) -> set[int]:
    """Give what touches one of these slots, and all that this waits for."""
    found: set[int] = set()
    for i, node in reversed(list(enumerate(nodes))):
        if i in found or not slots.isdisjoint(_slots(node.dispatch)):
            found |= {i, *node.waits}
    return found


def _levels(nodes: Sequence[_Node], first: set[int]) -> list[int]:
    """Give the level of each dispatch; all others wait for those that come `first`."""
    levels = [0] * len(nodes)
    turns = {_SCRATCH: -1, _DEVICE: -1}
    """The last level that took each of what dispatches take turns with."""
    start = 0
    for phase in (sorted(first), [i for i in range(len(nodes)) if i not in first]):
        for i in phase:
            before = [levels[w] for w in nodes[i].waits] + [turns[what] for what in nodes[i].takes]
            levels[i] = max(start, nodes[i].least, *(at + 1 for at in before))
            turns |= dict.fromkeys(nodes[i].takes, levels[i])
        start = 1 + max((levels[i] for i in phase), default=-1)
    return levels


def _small_ones_late(nodes: Sequence[_Node], levels: Sequence[int], urgent: set[int]) -> list[int]:
    """Move small dispatches as far back as what waits for them allows; not urgent ones, which the
    host waits for, nor those that take turns.
    """
    moved = list(levels)
    until = [max(levels, default=0)] * len(nodes)
    for i, node in reversed(list(enumerate(nodes))):
        if math.prod(node.dispatch.groups) < FEW and i not in urgent and not node.takes:
            moved[i] = until[i]
        for w in node.waits:
            until[w] = min(until[w], moved[i] - 1)
    return moved


def _takes(dispatch: Dispatch, has_own_scratch: bool) -> frozenset[str]:
    shares = not has_own_scratch and any(p.slot < 0 for p in dispatch.pointers)
    found = {_SCRATCH: shares, _DEVICE: _fills(dispatch)}
    return frozenset(what for what, is_taken in found.items() if is_taken)


def _only_reports(dispatch: Dispatch, written: set[int]) -> bool:
    """Whether a dispatch of a step that writes slots `written` leaves nothing but errors."""
    *others, last = (p.slot for p in dispatch.pointers)
    return last == ERRORS and all(s >= 0 and s not in written for s in others)


def _fills(dispatch: Dispatch) -> bool:
    """Whether a dispatch fills a large device by itself."""
    local = dispatch.constants[0] if dispatch.constants else 1
    return math.prod(dispatch.groups) * local >= FILLS


def own_scratch(lowered: Sequence[Lowered]) -> list[bool]:
    """Tell which steps have scratch of their own; the others share theirs, one after the other."""
    found, left = [], ALL_OWN_SCRATCH
    for low in lowered:
        needed = sum(low.scratch)
        owns = 0 < needed <= min(left, OWN_SCRATCH)
        left -= needed if owns else 0
        found.append(owns)
    return found


def _groups(lowered: Sequence[Lowered]) -> tuple[list[int], list[range]]:
    """Give the steps in whose places kernels run, and the steps that each of these is for."""
    runs = {low.steps.start: (i, low.steps) for i, low in enumerate(lowered) if low.steps}
    places: list[int] = []
    groups: list[range] = []
    step = 0
    while step < len(lowered):
        place, group = runs.get(step, (step, range(step, step + 1)))
        places.append(place)
        groups.append(group)
        step = group.stop
    return places, groups

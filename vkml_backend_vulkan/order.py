"""In which order the dispatches of a plan run: each as early as what it needs, beside others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vkml_backend_vulkan.dispatch import ERRORS, Dispatch, Lowered
from vkml_core.plan import Plan, SlotKind
from vkml_core.plan_rules import dependencies

OWN_SCRATCH: Final = 4 << 20
"""Bytes of scratch up to which a step has its own, so that it may run beside others."""
ALL_OWN_SCRATCH: Final = 32 << 20
"""The same for all steps of a plan together."""
FILLS: Final = 1 << 18
"""Invocations that fill a large device: two such kernels side by side only share its caches."""
_SCRATCH, _DEVICE = "scratch", "device"
"""What dispatches take turns with: scratch that steps share, and a device that one fills."""


@dataclass(frozen=True, slots=True)
class Flat:
    """One dispatch of one step, and whether it waits for those before it."""

    step: int
    dispatch: Dispatch
    barrier: bool


def flatten(plan: Plan, lowered: Sequence[Lowered]) -> Iterator[Flat]:
    """List the dispatches that do something, level by level: those of one level run side by side,
    and wait for the level before. Each is as early as what it needs itself allows; those of a
    step run one after the other, but that none waits for one that only reports errors. The copy of
    a plan's numbers, which comes first, runs beside the first level.
    """
    found: list[tuple[int, int, Dispatch]] = []
    places, groups = _groups(lowered)
    owns = own_scratch(lowered)
    levels = _Levels({s.index for s in plan.slots if s.kind is SlotKind.SCALAR})
    for place, group, needs in zip(places, groups, dependencies(plan, groups), strict=True):
        dispatches = [d for d in lowered[place].dispatches if 0 not in d.groups]
        takes = [_takes(d, owns[place]) for d in dispatches]
        written = {plan.steps[k].write for k in group}
        reports = [_only_reports(d, written) for d in dispatches]
        at = levels.add(needs, dispatches, takes, reports)
        found += ((level, place, d) for level, d in zip(at, dispatches, strict=True))
    last = 0
    for level, place, dispatch in sorted(found, key=lambda each: each[0]):
        yield Flat(place, dispatch, level > last)
        last = level


class _Levels:
    """The levels of the kernels so far, those of a group of steps after the other."""

    def __init__(self, numbers: set[int]) -> None:
        """`numbers` are slots that are there from level 1 on."""
        self._numbers = numbers
        self._ends: list[int] = []
        """The last level of each group; of one that does nothing, of those that it waits for."""
        self._turns = {_SCRATCH: -1, _DEVICE: -1}
        """The last level that took each of what dispatches take turns with."""

    def add(
        self,
        needs: Mapping[int, set[int]],
        dispatches: Sequence[Dispatch],
        takes: Sequence[set[str]],
        reports: Sequence[bool],
    ) -> list[int]:
        """Give the level of each dispatch of another group, which `needs` earlier ones, each
        because of slots; only a dispatch that touches one of these waits for it.
        """
        found, before = [], -1
        for dispatch, taken, reporting in zip(dispatches, takes, reports, strict=True):
            slots = {p.slot for p in dispatch.pointers}
            waits = [self._ends[n] for n, why in needs.items() if not slots.isdisjoint(why)]
            waits += [self._turns[what] for what in taken]
            waits.append(-1 if slots.isdisjoint(self._numbers) else 0)
            waits.append(-1 if reporting else before)
            found.append(max(waits) + 1)
            before = before if reporting else found[-1]
        end = max((*found, *(self._ends[n] for n in needs)), default=-1)
        self._ends.append(end)
        self._turns |= dict.fromkeys(set().union(*takes), end)
        return found


def _takes(dispatch: Dispatch, has_own_scratch: bool) -> set[str]:
    shares = not has_own_scratch and any(p.slot < 0 for p in dispatch.pointers)
    found = {_SCRATCH: shares, _DEVICE: _fills(dispatch)}
    return {what for what, is_taken in found.items() if is_taken}


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

"""In which order the dispatches of a plan run: each as early as what it needs, beside others."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from vkml_backend_vulkan.dispatch import Dispatch, Lowered
from vkml_core.plan import Plan
from vkml_core.plan_rules import dependencies

OWN_SCRATCH: Final = 4 << 20
"""Bytes of scratch up to which a step has its own, so that it may run beside others."""
ALL_OWN_SCRATCH: Final = 32 << 20
"""The same for all steps of a plan together."""
FILLS: Final = 1 << 18
"""Invocations that fill a large device: two such kernels side by side only share its caches."""


@dataclass(frozen=True, slots=True)
class Flat:
    """One dispatch of one step, and whether it waits for those before it."""

    step: int
    dispatch: Dispatch
    barrier: bool


def flatten(plan: Plan, lowered: Sequence[Lowered]) -> Iterator[Flat]:
    """List the dispatches that do something, level by level: those of one level run side by side,
    and wait for the level before. A dispatch is as early as what its step needs allows.
    """
    found: list[tuple[int, int, Dispatch]] = []
    places, groups = _groups(lowered)
    owns = own_scratch(lowered)
    ends: list[int] = []
    alone = {"scratch": -1, "device": -1}  # the last level of those that do not go together
    for place, needs in zip(places, dependencies(plan, groups), strict=True):
        dispatches = [d for d in lowered[place].dispatches if 0 not in d.groups]
        takes = {
            "scratch": bool(dispatches and lowered[place].scratch) and not owns[place],
            "device": any(map(_fills, dispatches)),
        }
        before = [end for what, end in alone.items() if takes[what]]
        end = max((*before, *(ends[n] for n in needs)), default=-1)
        found += [(end + 1 + k, place, d) for k, d in enumerate(dispatches)]
        ends.append(end + len(dispatches))
        alone |= {what: ends[-1] for what, is_taken in takes.items() if is_taken}
    last = 0
    for level, place, dispatch in sorted(found, key=lambda each: each[0]):
        yield Flat(place, dispatch, level > last)
        last = level


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

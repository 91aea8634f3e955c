"""Which results of a plan a run copies at once to where the host sees them."""

from __future__ import annotations

from typing import Final

from vkml_core.plan import Plan, SlotKind

MIRRORED: Final = 256
"""Bytes of such a result at most."""
_MOST: Final = 4


def small_results(plan: Plan) -> tuple[int, ...]:
    """Give the slots of these results."""
    made = [plan.slots[s] for s in dict.fromkeys(plan.outputs)]
    small = [s for s in made if s.kind is SlotKind.OUTPUT and 0 < s.nbytes <= MIRRORED]
    return tuple(s.index for s in small[:_MOST])

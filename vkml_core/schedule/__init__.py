"""Graph → plan: `lower` makes the first plan, passes (pure functions Plan → Plan) improve it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from vkml_core.backend import Capabilities
from vkml_core.graph import Node
from vkml_core.schedule.clean import deduplicate, prune
from vkml_core.schedule.early import move_up
from vkml_core.schedule.group import group
from vkml_core.schedule.hazards import add_barriers
from vkml_core.schedule.lower import Scheduled, lower
from vkml_core.schedule.memory import place
from vkml_core.schedule.state import write_in_place

__all__ = ["Scheduled", "schedule"]


def schedule(
    order: Sequence[Node],
    roots: Sequence[Node],
    *,
    donate: Iterable[Node] = (),
    capabilities: Capabilities,
) -> Scheduled:
    """Plan the computation of `roots`.

    `order` is what the roots reach, in program order (`graph.reachable` with `pending_inputs`).
    `donate` names leaves whose buffers nobody else reads after the run: an `assign` to one of
    them is written in place. A pure function: the same structure gives the same plan.
    """
    lowered = lower(order, roots, donate)
    plan = deduplicate(lowered.plan)
    if capabilities.fusion:
        plan = group(plan)
    plan = prune(write_in_place(plan))
    if capabilities.side_by_side:
        plan = move_up(plan)
    page, apart = capabilities.max_allocation, capabilities.side_by_side
    plan = add_barriers(place(plan, alignment=capabilities.alignment, page=page, apart=apart))
    return replace(lowered, plan=plan)

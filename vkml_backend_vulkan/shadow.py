"""Plans that may stop halfway write their STATE slots elsewhere; success exchanges the memory."""

from __future__ import annotations

from dataclasses import replace

from vkml_core.plan import Plan, Slot, SlotKind, Step


def shadowed(plan: Plan) -> tuple[Plan, dict[int, int]]:
    """Give the plan with a new OUTPUT slot for each STATE slot, and which is whose.

    What reads a STATE slot up to the step that writes it reads the old memory, and what reads it
    later the new. So no copy is kept of what a failure must leave as it was: it is not touched.
    """
    states = [s for s in plan.slots if s.kind is SlotKind.STATE]
    first = len(plan.slots)
    shadows = {s.index: first + k for k, s in enumerate(states)}
    slots = [replace(s, kind=SlotKind.INPUT) if s.index in shadows else s for s in plan.slots]
    slots += [Slot(shadows[s.index], SlotKind.OUTPUT, s.shape, s.dtype) for s in states]
    written: dict[int, int] = {}
    steps = []
    for step in plan.steps:
        steps.append(_renamed(step, written, shadows))
        if step.write in shadows:
            written[step.write] = shadows[step.write]
    return replace(plan, slots=tuple(slots), steps=tuple(steps)), shadows


def _renamed(step: Step, written: dict[int, int], shadows: dict[int, int]) -> Step:
    operands = tuple(
        replace(o, slot=written[o.slot]) if o.slot in written else o for o in step.operands
    )
    return replace(step, operands=operands, write=shadows.get(step.write, step.write))

"""Neighbouring steps of a plan as one kernel with several results: element-wise steps, and those
that follow a head.

What a step hands to the next one stays in registers, and is stored too where others read it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Container, Sequence
from typing import Final

from vkml_backend_vulkan.lower import epilogue
from vkml_backend_vulkan.lower.fused import Work, fits, is_alone
from vkml_core.plan import Hazard, Operand, Plan, Slot, SlotKind, Step
from vkml_core.plan_rules import (
    Conflict,
    has_head,
    hazards,
    is_whole,
    reads_in_step,
    reshaped,
)
from vkml_core.shapes import Shape, size

MOST_CALLS: Final = 32
"""Calls of one kernel."""


def merged(plan: Plan, taken: Container[int] = ()) -> dict[int, Work | None]:
    """Find what one kernel can do: its work by one of the steps that it is for, and None for the
    others, which do nothing. Steps that a single shipped kernel does are left out, and so are
    those that are `taken`.

    A head's kernel runs in the place of the head, which takes most of the time. So a step joins
    it only if all that it has to wait for has been waited for there. Other kernels run in the
    place of their last step, and so wait for all that any of their steps has to wait for.
    """
    found: dict[int, Work] = {}
    needs = _needs(plan)
    for i, step in enumerate(plan.steps):
        work = Work.of(step)
        if i in taken or not size(work.shape) or not is_possible(work, plan.slots):
            continue
        first = next(reversed(found), i)
        before = found.get(first)
        joined = None
        if before is not None and first + len(before.writes) == i and not has_head(step):
            late = is_alone(before.calls[0]) and not needs(i, first)
            joined = None if late else _joined(plan, before, i, step)
        found[first if joined else i] = joined or work
    return _placed({i: work for i, work in found.items() if len(work.calls) > 1})


def _placed(runs: dict[int, Work]) -> dict[int, Work | None]:
    """Give the runs, which are by their first steps, by the steps in whose place they run."""
    placed: dict[int, Work | None] = {}
    for first, work in runs.items():
        steps = range(first, first + len(work.writes))
        placed |= dict.fromkeys(steps)
        placed[first if is_alone(work.calls[0]) else steps[-1]] = work
    return placed


def _needs(plan: Plan) -> Callable[[int, int], bool]:
    """Give whether all that a step has to wait for has been waited for at step `first`, or comes
    from there on.
    """
    conflicts: dict[int, list[Conflict]] = {}
    for conflict in hazards(plan):
        conflicts.setdefault(conflict.before, []).append(conflict)
    return lambda step, first: all(
        c.after >= first or _waited(plan, first, c.hazard) >= c.after
        for c in conflicts.get(step, ())
    )


def _waited(plan: Plan, first: int, hazard: Hazard) -> int:
    """Give the last step that the barriers up to step `first` wait for because of a hazard."""
    at = bisect_right(plan.barriers, first, key=lambda b: b.before)
    serving = (
        b.after for b in reversed(plan.barriers[:at]) if hazard is Hazard.WAR or hazard in b.hazards
    )
    return next(serving, -1)


def is_possible(work: Work, slots: Sequence[Slot]) -> bool:
    """Whether one kernel can do it: element-wise calls, or a head that they follow."""
    head, *others = map(is_alone, work.calls)
    if any(others):
        return False
    return epilogue.takes(work, slots) if head else fits(work, slots)


def _joined(plan: Plan, work: Work, i: int, given: Step) -> Work | None:
    """Give the work of a run and of step `i` after it, or None if they stay apart."""
    run = plan.steps[i - len(work.writes) : i]
    step = given if given.calls[-1].shape == work.shape else _in_shape(given, work.shape)
    if step is None or len(work.calls) + len(step.calls) > MOST_CALLS:
        return None
    made = dict(work.writes)
    if not _is_related(plan, work, step, made):
        return None
    if not all(_is_in_order(plan, o) for o in step.operands if o.slot in made):
        return None
    if any(_disturbs(plan, step.write, earlier) for earlier in run):
        return None
    joined = work.then(Work.of(step))
    return joined if is_possible(joined, plan.slots) else None


def _in_shape(step: Step, shape: Shape) -> Step | None:
    same = size(step.calls[-1].shape) == size(shape)
    return reshaped(step, shape) if same and not any(map(is_alone, step.calls)) else None


def _is_related(plan: Plan, work: Work, step: Step, made: dict[int, int]) -> bool:
    """Whether one kernel reads less than two: numbers do not count, nor what only a head reads."""
    if is_alone(work.calls[0]):
        return any(o.slot in made for o in step.operands)
    arrays = {o for o in work.operands if plan.slots[o.slot].kind is not SlotKind.SCALAR}
    return any(o.slot in made or o in arrays for o in step.operands)


def _is_in_order(plan: Plan, operand: Operand) -> bool:
    return is_whole(operand.view, size(plan.slots[operand.slot].shape))


def _disturbs(plan: Plan, write: int, earlier: Step) -> bool:
    """Whether what an earlier step reads is overwritten before all of it has been read."""
    slot = plan.slots[write]
    if not reads_in_step(earlier, slot):
        return True
    read = (plan.slots[o.slot] for o in earlier.operands if o.slot != write)
    return _share_bytes(slot, plan.slots[earlier.write]) or any(
        _share_bytes(slot, other) and not _in_place(slot, other, earlier) for other in read
    )


def _in_place(slot: Slot, other: Slot, earlier: Step) -> bool:
    """Whether an invocation overwrites just the elements that only it has read."""
    same = (slot.offset, slot.dtype.itemsize) == (other.offset, other.dtype.itemsize)
    return same and reads_in_step(earlier, other)


def _share_bytes(a: Slot, b: Slot) -> bool:
    if a.offset is None or b.offset is None:
        return False
    return a.offset < b.offset + b.nbytes and b.offset < a.offset + a.nbytes

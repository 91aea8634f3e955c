"""Pass that lets a step write a STATE slot itself instead of a temporary that is then copied."""

from __future__ import annotations

from dataclasses import replace

from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Plan, Slot, SlotKind, Step
from vkml_core.schedule.clean import compact, rename_reads
from vkml_core.schedule.lower import COPY, is_whole


def write_in_place(plan: Plan) -> Plan:
    """Redirect the producers of STATE copies where no later step reads the old value.

    A copy of all of a TEMP slot into a STATE slot goes; the step that made the TEMP writes the
    STATE, and everything that read the TEMP reads the STATE instead.
    """
    writer = {step.write: i for i, step in enumerate(plan.steps)}
    last_read = {o.slot: i for i, step in enumerate(plan.steps) for o in step.operands}
    moved: dict[int, int] = {}
    dropped: set[int] = set()
    for i, step in enumerate(plan.steps):
        source = step.operands[0].slot if step.operands else -1
        if source in moved or not _is_state_copy(plan, step):
            continue
        made = writer[source]
        if last_read.get(step.write, -1) <= made and reads_in_step(
            plan.steps[made], plan.slots[step.write]
        ):
            moved[source] = step.write
            dropped.add(i)
    steps = (
        replace(rename_reads(s, moved), write=moved.get(s.write, s.write))
        for i, s in enumerate(plan.steps)
        if i not in dropped
    )
    return compact(replace(plan, steps=tuple(steps)))


def _is_state_copy(plan: Plan, step: Step) -> bool:
    if step.calls[-1].op != COPY or plan.slots[step.write].kind is not SlotKind.STATE:
        return False
    source = plan.slots[step.operands[0].slot]
    elements = source.nbytes // source.dtype.itemsize
    return source.kind is SlotKind.TEMP and is_whole(step.operands[0].view, elements)


def reads_in_step(step: Step, slot: Slot) -> bool:
    """Whether a step that writes `slot` reads at most the element of it that it writes next:
    the whole slot, in order, and only in element-wise calls.
    """
    touching = {i for i, o in enumerate(step.operands) if o.slot == slot.index}
    shape = step.calls[-1].shape
    whole = all(
        step.operands[i].view.shape == shape
        and is_whole(step.operands[i].view, slot.nbytes // slot.dtype.itemsize)
        for i in touching
    )
    return whole and all(
        REGISTRY[c.op].kind is Kind.ELEMENTWISE for c in step.calls if touching & set(c.args)
    )

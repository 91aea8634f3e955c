"""What steps have to wait for, from what they read and write; the pass that puts barriers there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from vkml_core.plan import Barrier, Hazard, Plan, Slot, SlotKind, Step
from vkml_core.schedule.ranges import RangeMap


def add_barriers(plan: Plan) -> Plan:
    """Put barriers where a step needs an earlier one to have finished.

    A barrier is put as late as possible, just before the step that needs it, and then serves all
    that later steps need of the steps before it: this greedy choice gives the fewest barriers.
    Each waits for no more than is needed and names every kind of hazard that it serves; having
    waited is all that a WAR hazard needs, so for those any barrier will do.
    """
    barriers: list[Barrier] = []
    done = dict.fromkeys(Hazard, -1)
    for conflict in hazards(plan):
        if conflict.after <= done[conflict.hazard]:
            continue
        place, after, kinds = conflict.before, conflict.after, frozenset({conflict.hazard})
        if barriers and after < barriers[-1].before:
            last = barriers.pop()
            place, after, kinds = last.before, max(after, last.after), kinds | last.hazards
        barriers.append(Barrier(place, after, kinds))
        done.update(dict.fromkeys(kinds | {Hazard.WAR}, after))
    return replace(plan, barriers=tuple(barriers))


class Conflict(NamedTuple):
    """Step `before` must not start before step `after` (an earlier one) has finished."""

    before: int
    after: int
    hazard: Hazard


def hazards(plan: Plan) -> Iterator[Conflict]:
    """List the conflicts of each step, in order of steps: with the last writer of what it reads,
    and with the last readers and writers of the bytes that it overwrites.

    Reads count as reads of the whole slot, since writes always write whole slots.
    """
    memory = _Memory(plan)
    for i, step in enumerate(plan.steps):
        reads = touched(step)
        found = [(memory.writer.get(s, -1), Hazard.RAW) for s in reads]
        for slot in memory.overwritten(step.write):
            found.append((memory.reader.get(slot, -1), Hazard.WAR))
            found.append((memory.writer.get(slot, -1), Hazard.WAW))
        for after, hazard in found:
            if after >= 0:
                yield Conflict(i, after, hazard)
        memory.reader.update((s, i) for s in reads)
        memory.write(step.write, i)


def dependencies(plan: Plan, groups: Sequence[range]) -> list[dict[int, set[int]]]:
    """Give for each group of steps the earlier groups that must have finished before it starts,
    whatever else runs between them or beside them, each with the slots of the group that are why:
    those that it reads and that group wrote, and those whose bytes that group read or wrote
    before.
    """
    memory, readers = _Memory(plan), dict[int, set[int]]()
    found: list[dict[int, set[int]]] = []
    for i, group in enumerate(groups):
        reads, writes = _accesses(plan, group)
        needs: dict[int, set[int]] = {}
        for slot in reads:
            needs.setdefault(memory.writer.get(slot, i), set()).add(slot)
        for write in writes:
            for lost in memory.overwritten(write):
                for n in (memory.writer.get(lost, i), *readers.get(lost, ())):
                    needs.setdefault(n, set()).add(write)
        for slot in reads:
            readers.setdefault(slot, set()).add(i)
        for write in writes:
            memory.write(write, i)
        needs.pop(i, None)
        found.append(needs)
    return found


def _accesses(plan: Plan, group: range) -> tuple[list[int], list[int]]:
    """Give the slots that a group reads from memory, and those that it writes. What it reads of
    its own results is not read from memory.
    """
    reads: dict[int, None] = {}
    writes: dict[int, None] = {}
    for step in (plan.steps[k] for k in group):
        reads |= dict.fromkeys(s for s in touched(step) if s not in writes)
        writes[step.write] = None
    return list(reads), list(writes)


def touched(step: Step) -> set[int]:
    """Give the slots that a step reads; an operand without elements touches nothing."""
    return {o.slot for o in step.operands if 0 not in o.view.shape}


class _Memory:
    """The last reader and writer of each slot, and which slot has each byte of the arena."""

    def __init__(self, plan: Plan) -> None:
        self.reader: dict[int, int] = {}
        self.writer: dict[int, int] = {}
        self._slots = plan.slots
        self._arena = RangeMap()

    def overwritten(self, slot: int) -> set[int]:
        """Give the slots that lose bytes when `slot` is written."""
        if self._slots[slot].kind is not SlotKind.TEMP:
            return {slot}
        return set(self._arena.owners(*arena_range(self._slots[slot])))

    def write(self, slot: int, step: int) -> None:
        self.writer[slot] = step
        if self._slots[slot].kind is SlotKind.TEMP:
            self._arena.put(*arena_range(self._slots[slot]), slot)


def arena_range(slot: Slot) -> tuple[int, int]:
    """Give the half-open range of arena bytes of a TEMP slot that has been placed."""
    assert slot.offset is not None
    return slot.offset, slot.offset + slot.nbytes

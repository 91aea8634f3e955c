"""Pass that gives every TEMP slot a place in the arena: lifetimes, then best fit."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import replace
from typing import Final

from vkml_core.plan import Plan, SlotKind
from vkml_core.schedule.hazards import touched

APART: Final = 256 << 10
"""Bytes of a TEMP slot up to which it may have memory of its own: a step that takes longer than the
launch of one reads or writes more."""
ALL_APART: Final = 8 << 20
"""The same for all slots together: a plan may take so much more memory, and a GPU's cache has room
for more. What comes later in the plan shares again."""


def place(plan: Plan, *, alignment: int = 64, page: int | None = None, apart: bool = False) -> Plan:
    """Give TEMP slots arena offsets so that two share bytes only if their lifetimes are apart.

    A slot lives from the step that writes it to the last step that reads it. Its bytes are used
    again only by steps that wait for that last step anyway because of what they (or steps before
    them) read: sharing memory then never adds a wait. No slot of up to `page` bytes crosses a
    multiple of `page`, so that the arena can be made of pages of that size. Notes: `temp_bytes`,
    the sum of the TEMP slots, and `arena_bytes`, what the arena needs.
    """
    arena = _Arena(alignment, page)
    finished = finished_before(plan)
    own = _small(plan) if apart else []
    offsets = {slot: arena.take(plan.slots[slot].nbytes) for slot in own}
    ends: dict[int, list[int]] = {}
    for slot, last in _last_uses(plan).items():
        if slot not in offsets:
            ends.setdefault(last, []).append(slot)
    released = 0
    for i, step in enumerate(plan.steps):
        while released <= finished[i]:
            for slot in ends.get(released, ()):
                arena.free(offsets[slot], plan.slots[slot].nbytes)
            released += 1
        if plan.slots[step.write].kind is SlotKind.TEMP and step.write not in offsets:
            offsets[step.write] = arena.take(plan.slots[step.write].nbytes)
    slots = tuple(
        replace(s, offset=offsets[s.index]) if s.index in offsets else s for s in plan.slots
    )
    temp = sum(plan.slots[s].nbytes for s in offsets)
    notes = plan.notes | {"temp_bytes": temp, "arena_bytes": arena.size}
    return replace(plan, slots=slots, arena=arena.size, notes=notes)


def _small(plan: Plan) -> list[int]:
    """Give the TEMP slots that have memory of their own, in the order in which they are written."""
    found, left = [], ALL_APART
    for slot in (plan.slots[step.write] for step in plan.steps):
        if slot.kind is SlotKind.TEMP and slot.nbytes <= min(APART, left):
            left -= slot.nbytes
            found.append(slot.index)
    return found


def _last_uses(plan: Plan) -> dict[int, int]:
    """Map each TEMP slot to the last step that writes or reads it."""
    uses: dict[int, int] = {}
    for i, step in enumerate(plan.steps):
        for slot in (step.write, *(o.slot for o in step.operands)):
            if plan.slots[slot].kind is SlotKind.TEMP:
                uses[slot] = i
    return uses


def finished_before(plan: Plan) -> list[int]:
    """For each step the last step that is sure to be finished, with all before it, when it
    starts: by what it and earlier steps read, whatever memory they share (−1: none).
    """
    writer = {step.write: i for i, step in enumerate(plan.steps)}
    done, marks = -1, []
    for i, step in enumerate(plan.steps):
        made = (writer.get(slot, -1) for slot in touched(step))
        done = max(done, max((m for m in made if m < i), default=-1))
        marks.append(done)
    return marks


class _Arena:
    """Free ranges by size and by place; grows at its end when nothing fits.

    With pages, free ranges end where a page does.
    """

    def __init__(self, alignment: int, page: int | None = None) -> None:
        self.size = 0
        self._alignment = alignment
        self._page = (page or 0) // alignment * alignment
        self._by_size: list[tuple[int, int]] = []
        self._starting: dict[int, int] = {}
        self._ending: dict[int, int] = {}

    def _rounded(self, nbytes: int) -> int:
        return -(-nbytes // self._alignment) * self._alignment

    def take(self, nbytes: int) -> int:
        """Give the offset of the smallest free range that fits, or of new bytes at the end."""
        need = self._rounded(nbytes)
        if need == 0:
            return 0
        at = bisect_left(self._by_size, (need, 0))
        if at < len(self._by_size):
            have, offset = self._by_size[at]
        else:
            offset, have = self._grow(need)
        if have:
            self._remove(offset, have)
        if have > need:
            self._add(offset + need, have - need)
        return offset

    def _grow(self, need: int) -> tuple[int, int]:
        """Make room at the end: where, and how much of it is a free range now."""
        offset = self._ending.get(self.size, self.size)
        if self._is_page_end(self.size) or self._left(offset) < need:
            offset = self.size
        if (gap := self._left(offset)) < need and not self._is_page_end(offset):
            self._add(offset, gap)
            offset += gap
        have = max(self.size - offset, 0)
        self.size = offset + need
        return offset, have

    def _is_page_end(self, offset: int) -> bool:
        return bool(self._page) and offset % self._page == 0

    def _left(self, offset: int) -> int:
        """Give the bytes from an offset to the end of its page."""
        return self._page - offset % self._page if self._page else 2**63

    def free(self, offset: int, nbytes: int) -> None:
        """Give a range back; it merges with free neighbours."""
        have = self._rounded(nbytes)
        if have == 0:
            return
        if offset in self._ending and not self._is_page_end(offset):
            start = self._ending[offset]
            self._remove(start, offset - start)
            offset, have = start, have + offset - start
        if offset + have in self._starting and not self._is_page_end(offset + have):
            more = self._starting[offset + have]
            self._remove(offset + have, more)
            have += more
        self._add(offset, have)

    def _add(self, offset: int, have: int) -> None:
        insort(self._by_size, (have, offset))
        self._starting[offset], self._ending[offset + have] = have, offset

    def _remove(self, offset: int, have: int) -> None:
        del self._by_size[bisect_left(self._by_size, (have, offset))]
        del self._starting[offset], self._ending[offset + have]

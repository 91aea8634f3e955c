"""Where the pointers of a lowered plan lead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vkml_backend_vulkan.dispatch import (
    ERROR_BYTES,
    ERRORS,
    SCALAR_BYTES,
    Lowered,
    Pointer,
)
from vkml_backend_vulkan.free_ranges import ALIGNMENT, padded
from vkml_backend_vulkan.order import own_scratch
from vkml_core.plan import Plan, SlotKind

RECORDS, WORKSPACE = 0, 1
"""Places in the table of base addresses: error records, the pages of the workspace, then the
buffers bound at a run."""
Place = tuple[int, int]


class Layout:
    """Turns a pointer into a place in the table of bases and bytes from there.

    The workspace, which all plans of a device share, holds the arena, the scalars and scratch: of
    steps with their own, then of one of the others at a time. It is one range of bytes cut into
    pages, and nothing crosses from one page into the next: a page is what one allocation may be.
    The buffers bound at a run are the plan's inputs, then `outputs`.
    """

    def __init__(self, plan: Plan, lowered: Sequence[Lowered], most: int) -> None:
        """`most` is the size of a page."""
        self._page = most // ALIGNMENT * ALIGNMENT
        self._failing = [i for i, low in enumerate(lowered) if can_fail(low)]
        self.failing = tuple(plan.steps[i] for i in self._failing)
        """Steps with an error record."""
        self.outputs = tuple(s.index for s in plan.slots if s.kind is SlotKind.OUTPUT)
        self.scalars = SCALAR_BYTES * len(plan.scalars)
        self.numbers, end = self._fit(padded(plan.arena) if plan.arena else 0, self.scalars)
        """Where the scalars begin: a page and bytes from there."""
        self._scratch: list[list[tuple[Place, int]]] = [[] for _ in lowered]
        owns = own_scratch(lowered)
        for i in (i for i, own in enumerate(owns) if own):
            self._scratch[i] = self._scratch_of(lowered[i], end)
            end = self._scratch[i][-1][1]
        for i in (i for i, own in enumerate(owns) if not own):
            self._scratch[i] = self._scratch_of(lowered[i], end)
        ends = [end, *(stop for places in self._scratch for _, stop in places)]
        self.pages = self._sizes(max(ends))
        """Bytes of each page of the workspace."""
        self._places = dict(self._bound(plan, WORKSPACE + len(self.pages)))

    def place(self, step: int, pointer: Pointer) -> Place:
        """Give (place in the table of bases, bytes from there) of a pointer of a step."""
        if pointer.slot == ERRORS:
            return RECORDS, ERROR_BYTES * self._failing.index(step)
        if pointer.slot < 0:
            (page, start), _ = self._scratch[step][~pointer.slot]
            return WORKSPACE + page, start + pointer.offset
        base, start = self._places[pointer.slot]
        return base, start + pointer.offset

    def _bound(self, plan: Plan, first: int) -> Iterator[tuple[int, Place]]:
        """Place every slot; the buffers bound at a run come from `first` on."""
        page, start = self.numbers
        for i, slot in enumerate(sorted(plan.scalars)):
            yield slot, (WORKSPACE + page, start + SCALAR_BYTES * i)
        for i, slot in enumerate((*plan.inputs, *self.outputs)):
            yield slot, (first + i, 0)
        for s in plan.slots:
            if s.offset is not None:
                yield s.index, (WORKSPACE + s.offset // self._page, s.offset % self._page)

    def _fit(self, at: int, nbytes: int) -> tuple[Place, int]:
        """Place bytes at `at` or where the next page begins; give the end too."""
        size = padded(nbytes) if nbytes else 0
        if at % self._page + size > self._page:
            at = -(-at // self._page) * self._page
        return divmod(at, self._page), at + size

    def _scratch_of(self, lowered: Lowered, at: int) -> list[tuple[Place, int]]:
        """Place the scratch of a step, each buffer with its end."""
        found = []
        for nbytes in lowered.scratch:
            place, at = self._fit(at, nbytes)
            found.append((place, at))
        return found

    def _sizes(self, end: int) -> tuple[int, ...]:
        whole, rest = divmod(end, self._page)
        return (self._page,) * whole + ((rest,) if rest else ())


def can_fail(lowered: Lowered) -> bool:
    """Whether a step has an error record."""
    return any(p.slot == ERRORS for d in lowered.dispatches for p in d.pointers)

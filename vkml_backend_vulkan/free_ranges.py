"""Which bytes of a block are free: pure bookkeeping, in multiples of an alignment."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Final

ALIGNMENT: Final = 64
"""Buffers start at multiples of it and fill multiples of it, so none shares a unit of 16 bytes."""


def padded(nbytes: int) -> int:
    """Give the bytes that a buffer of `nbytes` takes."""
    return max(-(-nbytes // ALIGNMENT), 1) * ALIGNMENT


class FreeRanges:
    """The free ranges of `size` bytes: the smallest that fits is taken, neighbours are joined."""

    def __init__(self, size: int) -> None:
        self.size: Final = size
        self._starts: dict[int, int] = {}
        self._ends: dict[int, int] = {}
        self._sizes: list[tuple[int, int]] = []
        self._add(0, size)

    def take(self, size: int) -> int | None:
        """Give the start of `size` bytes, or None if no range is large enough."""
        i = bisect_left(self._sizes, (size, 0))
        if i == len(self._sizes):
            return None
        found, start = self._sizes[i]
        self._remove(start, found)
        if found > size:
            self._add(start + size, found - size)
        return start

    def give(self, start: int, size: int) -> None:
        """Take back what `take` gave."""
        before, after = self._ends.get(start), self._starts.get(start + size)
        if before is not None:
            self._remove(before, start - before)
            start, size = before, size + start - before
        if after is not None:
            self._remove(start + size, after)
            size += after
        self._add(start, size)

    @property
    def empty(self) -> bool:
        """Whether nothing is taken."""
        return self._starts.get(0) == self.size

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """List the free ranges as (start, size)."""
        return iter(sorted(self._starts.items()))

    def _add(self, start: int, size: int) -> None:
        self._starts[start], self._ends[start + size] = size, start
        insort(self._sizes, (size, start))

    def _remove(self, start: int, size: int) -> None:
        del self._starts[start], self._ends[start + size]
        del self._sizes[bisect_left(self._sizes, (size, start))]

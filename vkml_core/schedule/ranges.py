"""A map from byte ranges to what was last put there: a sorted list of disjoint intervals."""

from __future__ import annotations

from bisect import bisect_left, bisect_right


class RangeMap:
    """Who owns each byte. A `put` adds at most two intervals, so a run of them is near-linear."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._stops: list[int] = []
        self._owners: list[int] = []

    def owners(self, start: int, stop: int) -> list[int]:
        """List the owners in start ≤ byte < stop, in order of place; unowned gaps are skipped."""
        first, last = self._touched(start, stop)
        return self._owners[first:last]

    def put(self, start: int, stop: int, owner: int) -> None:
        """Give the bytes start ≤ byte < stop to `owner`; what overlaps is cut back."""
        if start >= stop:
            return
        first, last = self._touched(start, stop)
        pieces = [(start, stop, owner)]
        if first < last and self._starts[first] < start:
            pieces.insert(0, (self._starts[first], start, self._owners[first]))
        if first < last and self._stops[last - 1] > stop:
            pieces.append((stop, self._stops[last - 1], self._owners[last - 1]))
        starts, stops, owners = zip(*pieces, strict=True)
        self._starts[first:last] = starts
        self._stops[first:last] = stops
        self._owners[first:last] = owners

    def owned_by(self, start: int, stop: int, owner: int) -> bool:
        """Whether every byte of start ≤ byte < stop belongs to `owner`."""
        first, last = self._touched(start, stop)
        if start >= stop:
            return True
        pieces = range(first, last)
        return (
            first < last
            and self._starts[first] <= start
            and self._stops[last - 1] >= stop
            and all(self._owners[i] == owner for i in pieces)
            and all(self._stops[i] == self._starts[i + 1] for i in pieces[:-1])
        )

    def _touched(self, start: int, stop: int) -> tuple[int, int]:
        if start >= stop:
            return 0, 0
        return bisect_right(self._stops, start), bisect_left(self._starts, stop)

"""The account of a stretch of time: every nanosecond belongs to exactly one category.

While the host works, time is the host's, and what the device does then is told as hidden. While
the host waits, time is the kernel's that runs; between the kernels of a submission it is idle;
before the first and after the last one it is the wait's own: launch and notification.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from vkml_core.spans import Moment, Phase

KERNELS: Final = "kernels"
IDLE: Final = "idle"
UNATTRIBUTED: Final = "unattributed"
CATEGORIES: Final = (
    *(p.value for p in Phase if p is not Phase.PROFILE),
    KERNELS,
    IDLE,
    UNATTRIBUTED,
)
"""In the order of a table: the host's phases, the device, and what nobody claims."""
_OF_PHASE: Final = {p: p.value for p in Phase} | {Phase.PROFILE: UNATTRIBUTED}


@dataclass(frozen=True, slots=True)
class Interval:
    """Something that runs from `start` to `end`, in nanoseconds; `owner` says what."""

    start: int
    end: int
    owner: int = 0


Segment = tuple[Interval, str]
"""A piece of the host's time and its category."""


@dataclass(frozen=True, slots=True)
class Account:
    """How a stretch of time was spent, in nanoseconds."""

    wall: int
    categories: dict[str, int]
    """By category, all of them; their sum is `wall`."""
    busy: dict[int, int]
    """By owner, the time that its kernel ran in the stretch, overlaps counted once."""
    hidden: int
    """The part of `busy` during which the host worked."""


def once(intervals: Iterable[Interval]) -> list[Interval]:
    """Cut overlaps off: an instant belongs to what began first of all that runs then.

    >>> [(i.start, i.end, i.owner) for i in once([Interval(0, 10, 1), Interval(4, 15, 2)])]
    [(0, 10, 1), (10, 15, 2)]
    """
    found: list[Interval] = []
    reached: int | None = None
    for i in sorted(intervals, key=lambda i: (i.start, i.end, i.owner)):
        start = i.start if reached is None else max(i.start, reached)
        if i.end > start:
            found.append(Interval(start, i.end, i.owner))
            reached = i.end
    return found


def clipped(intervals: Iterable[Interval], start: int, end: int) -> list[Interval]:
    """Give the parts that lie between two moments; the order stays."""
    cut = (Interval(max(i.start, start), min(i.end, end), i.owner) for i in intervals)
    return [i for i in cut if i.end > i.start]


def overlaps(first: Sequence[Interval], second: Sequence[Interval]) -> Iterator[tuple[int, int]]:
    """Give (index in `first`, nanoseconds) of what two lists share; each is sorted and disjoint."""
    at = 0
    for i, a in enumerate(first):
        while at < len(second) and second[at].end <= a.start:
            at += 1
        k = at
        while k < len(second) and second[k].start < a.end:
            yield i, min(a.end, second[k].end) - max(a.start, second[k].start)
            k += 1


def segments(
    moments: Sequence[Moment], start: int, end: int, full_since: int | None = None
) -> list[Segment]:
    """Turn moments into the host's categories, without a gap from `start` to `end`.

    Before the first moment, and from `full_since` on, nobody knows: unattributed.
    """
    known = end if full_since is None else max(min(full_since, end), start)
    times = [t for t, _ in moments] + [known]
    spans = [(start, times[0], UNATTRIBUTED)] if times[0] > start else []
    following = zip(moments, times[1:], strict=True)
    spans += [(t, after, _OF_PHASE[phase]) for (t, phase), after in following]
    spans.append((known, end, UNATTRIBUTED))
    cut = ((Interval(max(a, start), min(b, end)), name) for a, b, name in spans)
    return [(i, name) for i, name in cut if i.end > i.start]


def account(
    host: Sequence[Segment],
    kernels: Sequence[Interval],
    submissions: Sequence[Interval],
    own: Sequence[Interval] = (),
) -> Account:
    """Divide the stretch that `host` covers without a gap.

    `kernels` are what devices ran, `submissions` from the first to the last kernel of each, `own`
    kernels that the host ran itself while it submitted.
    """
    start, end = (host[0][0].start, host[-1][0].end) if host else (0, 0)
    found = dict.fromkeys(CATEGORIES, 0)
    for interval, name in host:
        found[name] += interval.end - interval.start
    runs, mine = clipped(once(kernels), start, end), clipped(once(own), start, end)
    seen = _move(found, host, runs, Phase.WAIT, KERNELS)
    seen += _move(found, host, mine, Phase.SUBMIT, KERNELS)
    idle = gaps(clipped(once(submissions), start, end), runs)
    _move(found, host, idle, Phase.WAIT, IDLE)
    busy: dict[int, int] = {}
    for run in (*runs, *mine):
        busy[run.owner] = busy.get(run.owner, 0) + run.end - run.start
    return Account(end - start, found, busy, sum(busy.values()) - seen)


def gaps(outer: Sequence[Interval], inner: Sequence[Interval]) -> list[Interval]:
    """Give what of `outer` is not in `inner`; each is sorted and disjoint."""
    found, first = [], 0
    for o in outer:
        at = o.start
        while first < len(inner) and inner[first].end <= o.start:
            first += 1
        k = first
        while k < len(inner) and inner[k].start < o.end:
            if inner[k].start > at:
                found.append(Interval(at, inner[k].start))
            at = inner[k].end
            k += 1
        if at < o.end:
            found.append(Interval(at, o.end))
    return found


def _move(
    found: dict[str, int],
    host: Sequence[Segment],
    runs: Sequence[Interval],
    phase: Phase,
    to: str,
) -> int:
    """Give time of a phase to the category `to` where `runs` lie; tell how much."""
    moved = sum(
        shared
        for i, shared in overlaps([interval for interval, _ in host], runs)
        if host[i][1] == phase.value
    )
    found[phase.value] -= moved
    found[to] += moved
    return moved

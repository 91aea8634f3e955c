"""The account adds up exactly, whatever the intervals, and counts overlaps once."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from vkml.attribution.account import (
    CATEGORIES,
    IDLE,
    KERNELS,
    UNATTRIBUTED,
    Interval,
    account,
    clipped,
    gaps,
    once,
    overlaps,
    segments,
)
from vkml_core.spans import Phase

END = 60
spans = st.tuples(st.integers(-5, END + 5), st.integers(0, 12))
intervals = st.lists(
    st.builds(lambda at, owner: Interval(at[0], at[0] + at[1], owner), spans, st.integers(0, 4)),
    max_size=12,
)
moments = st.lists(
    st.tuples(st.integers(-5, END + 5), st.sampled_from(Phase)), min_size=1, max_size=12
).map(lambda found: sorted(found, key=lambda m: m[0]))
full = st.none() | st.integers(-5, END + 5)


def covered(some: list[Interval]) -> dict[int, list[int]]:
    """The owners of each nanosecond, in order of their start: the slow way."""
    found: dict[int, list[int]] = {}
    for i in sorted(some, key=lambda i: (i.start, i.end, i.owner)):
        for t in range(i.start, i.end):
            found.setdefault(t, []).append(i.owner)
    return found


@given(intervals)
def test_once_keeps_what_is_covered_and_nothing_twice(some: list[Interval]) -> None:
    flat = once(some)
    assert all(a.end <= b.start for a, b in pairwise(flat))
    assert covered(flat).keys() == covered(some).keys()
    assert all(len(owners) == 1 for owners in covered(flat).values())
    assert all(owners[0] in covered(some)[t] for t, owners in covered(flat).items())


@given(intervals, intervals)
def test_overlaps_and_gaps_share_out_the_first(
    first: list[Interval], second: list[Interval]
) -> None:
    a, b = once(first), once(second)
    both = covered(a).keys() & covered(b).keys()
    assert sum(ns for _, ns in overlaps(a, b)) == len(both)
    assert covered(gaps(a, b)).keys() == covered(a).keys() - covered(b).keys()


@given(moments, full)
def test_segments_have_no_gap(found: list[tuple[int, Phase]], full_since: int | None) -> None:
    if full_since is not None and full_since < found[-1][0]:
        full_since = found[-1][0]  # what is kept came before
    host = segments(found, 0, END, full_since)
    assert host[0][0].start == 0 and host[-1][0].end == END
    assert all(a[0].end == b[0].start for a, b in pairwise(host))


def second_opinion(
    host: list[tuple[Interval, str]],
    kernels: list[Interval],
    submissions: list[Interval],
    own: list[Interval],
) -> dict[str, int]:
    """The definition, a nanosecond at a time."""
    found = dict.fromkeys(CATEGORIES, 0)
    runs, extents, mine = covered(kernels), covered(submissions), covered(own)
    for interval, name in host:
        for t in range(interval.start, interval.end):
            if (name == "wait" and t in runs) or (name == "submit" and t in mine):
                found[KERNELS] += 1
            elif name == "wait" and t in extents:
                found[IDLE] += 1
            else:
                found[name] += 1
    return found


@given(moments, full, intervals, intervals, intervals)
def test_every_nanosecond_belongs_to_one_category(
    found: list[tuple[int, Phase]],
    full_since: int | None,
    kernels: list[Interval],
    submissions: list[Interval],
    own: list[Interval],
) -> None:
    own = [Interval(i.start, i.end, i.owner + 10) for i in own]
    if full_since is not None and full_since < found[-1][0]:
        full_since = found[-1][0]
    host = segments(found, 0, END, full_since)
    got = account(host, kernels, submissions, own)
    assert got.wall == END == sum(got.categories.values())
    assert all(ns >= 0 for ns in got.categories.values())
    assert got.categories == second_opinion(host, kernels, submissions, own)
    runs = [len(covered(clipped(once(some), 0, END))) for some in (kernels, own)]
    assert sum(got.busy.values()) == sum(runs)
    assert 0 <= got.hidden == sum(runs) - got.categories[KERNELS]


def test_nothing_known_is_unattributed() -> None:
    host = segments([(50, Phase.PYTHON)], 0, 60, 55)
    assert [(i.start, i.end, name) for i, name in host] == [
        (0, 50, UNATTRIBUTED),
        (50, 55, "Python"),
        (55, 60, UNATTRIBUTED),
    ]


def test_work_behind_the_host_is_hidden_and_not_counted_twice() -> None:
    host = segments([(0, Phase.RECORD), (40, Phase.WAIT), (80, Phase.PYTHON)], 0, 100)
    got = account(host, [Interval(20, 50, 1), Interval(55, 60, 2)], [Interval(20, 60)])
    assert got.categories == dict.fromkeys(CATEGORIES, 0) | {
        "record": 40,
        "wait": 20,
        "Python": 20,
        KERNELS: 15,
        IDLE: 5,
    }
    assert got.hidden == 20 and got.busy == {1: 30, 2: 5}

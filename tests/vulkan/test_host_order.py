"""Which dispatches run side by side and which wait, without a device."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import needs_vulkan  # noqa: F401
import pytest

from vkml_backend_vulkan import order as order_of
from vkml_backend_vulkan.dispatch import ERRORS, Dispatch, Lowered, Pointer
from vkml_backend_vulkan.order import (
    ALL_OWN_SCRATCH,
    CHECK_LEVELS,
    FEW,
    FILLS,
    OWN_SCRATCH,
    flatten,
    own_scratch,
)
from vkml_core.dtypes import float32
from vkml_core.plan import Call, Operand, Plan, Slot, SlotKind, Step
from vkml_core.shapes import View

ONE = Lowered((Dispatch("m", (FEW, 1, 1), (), b""),))
SMALL = Lowered((Dispatch("m", (FEW - 1, 1, 1), (), b""),))
TWO = Lowered(ONE.dispatches * 2)
NOTHING = Lowered(())
LARGE = OWN_SCRATCH + 1
END = Pointer(ERRORS, 0)


def _slot(i: int, offset: int | None) -> Slot:
    kind = SlotKind.OUTPUT if offset is None else SlotKind.TEMP
    return Slot(i, kind, (16,), float32, offset)


def plan(*steps: tuple[tuple[int, ...], int], arena: dict[int, int] | None = None) -> Plan:
    """Make a plan of steps (slots read, slot written); `arena` has the offsets of TEMP slots."""
    offsets = arena or {}
    count = 1 + max(s for reads, write in steps for s in (*reads, write))
    written = {write for _, write in steps}
    slots = tuple(
        _slot(i, offsets.get(i)) if i in written else Slot(i, SlotKind.INPUT, (16,), float32)
        for i in range(count)
    )
    view = View.of((16,))
    made = tuple(
        Step(
            (Call("add", None, tuple(range(len(reads))), (16,), float32),),
            tuple(Operand(s, view) for s in reads),
            write,
        )
        for reads, write in steps
    )
    inputs = tuple(s.index for s in slots if s.kind is SlotKind.INPUT)
    outputs = tuple(s.index for s in slots if s.kind is SlotKind.OUTPUT)
    return Plan(slots, made, inputs, (), outputs, (), 4096 if offsets else 0)


def touching(given: Plan, i: int, low: Lowered) -> Lowered:
    """Let every dispatch of a step touch all that its steps read and write, and its scratch; one
    that touches something already stays as it is.
    """
    steps = [given.steps[k] for k in low.steps or (i,)]
    slots = [s for step in steps for s in (*(o.slot for o in step.operands), step.write)]
    pointers = tuple(Pointer(s, 0) for s in (*slots, *(~k for k in range(len(low.scratch)))))
    made = (d if d.pointers else replace(d, pointers=pointers) for d in low.dispatches)
    return replace(low, dispatches=tuple(made))


def order(given: Plan, *lowered: Lowered, checks_first: bool = False) -> list[list[int]]:
    """Give the steps of the dispatches, level by level."""
    levels: list[list[int]] = []
    every = [touching(given, i, low) for i, low in enumerate(lowered)]
    for flat in flatten(given, every, checks_first=checks_first):
        if flat.barrier or not levels:
            levels.append([])
        levels[-1].append(flat.step)
    return levels


def test_a_chain_waits_and_what_is_apart_does_not() -> None:
    given = plan(((0,), 1), ((1,), 2), ((0,), 3), ((2, 3), 4))
    assert order(given, ONE, ONE, ONE, ONE) == [[0, 2], [1], [3]]
    assert order(given, TWO, ONE, ONE, ONE) == [[0, 2], [0], [1], [3]]


def test_a_step_that_does_nothing_hands_on_what_it_waits_for() -> None:
    given = plan(((0,), 1), ((1,), 2), ((2,), 3))
    assert order(given, ONE, NOTHING, ONE) == [[0], [2]]


def test_what_is_overwritten_has_been_read() -> None:
    """Slots 1 and 3 share bytes, and so do 1 and 4: what read 1 comes before both."""
    given = plan(((0,), 1), ((1,), 2), ((0,), 3), ((0,), 4), arena={1: 0, 3: 0, 4: 32})
    assert order(given, ONE, ONE, ONE, ONE) == [[0], [1], [2], [3]]
    apart = plan(((0,), 1), ((1,), 2), ((0,), 3), ((0,), 4), arena={1: 0, 3: 64, 4: 128})
    assert order(apart, ONE, ONE, ONE, ONE) == [[0, 2, 3], [1]]


def test_one_kernel_for_two_steps_waits_as_both_would() -> None:
    given = plan(((0,), 1), ((0,), 2), ((1,), 3), ((3,), 4))
    both = Lowered(ONE.dispatches, steps=range(1, 3))
    assert order(given, ONE, NOTHING, both, ONE) == [[0], [2], [3]]
    early = Lowered(ONE.dispatches, steps=range(1, 3))
    assert order(given, ONE, early, NOTHING, ONE) == [[0], [1], [3]]


@pytest.mark.parametrize(("nbytes", "levels"), [(64, [[0, 1]]), (LARGE, [[0], [1]])])
def test_large_scratch_is_shared_and_so_waited_for(nbytes: int, levels: list[list[int]]) -> None:
    some = Lowered(ONE.dispatches, scratch=(nbytes,))
    assert order(plan(((0,), 1), ((0,), 2)), some, some) == levels


def test_there_is_a_limit_to_scratch_of_ones_own() -> None:
    some = Lowered(ONE.dispatches, scratch=(OWN_SCRATCH // 2, OWN_SCRATCH // 2))
    most = ALL_OWN_SCRATCH // OWN_SCRATCH
    assert own_scratch([ONE, *[some] * (most + 2), ONE]) == [
        False,
        *[True] * most,
        *[False] * 3,
    ]


def test_two_that_fill_the_device_do_not_run_side_by_side() -> None:
    large = Lowered((Dispatch("m", (FILLS // 128, 1, 1), (), b"", (128,)),))
    given = plan(((0,), 1), ((0,), 2), ((0,), 3))
    assert order(given, large, ONE, large) == [[0, 1], [2]]


def before(*slots: int) -> Lowered:
    """A step whose first dispatch touches only some slots."""
    return Lowered(
        (Dispatch("m", (FEW, 1, 1), tuple(Pointer(s, 0) for s in slots), b""), *TWO.dispatches[:1])
    )


def test_a_dispatch_waits_only_for_what_it_touches() -> None:
    chain = plan(((0,), 1), ((1,), 2), ((2, 0), 3))
    assert order(chain, ONE, ONE, TWO) == [[0], [1], [2], [2]]
    assert order(chain, ONE, ONE, before(0)) == [[0, 2], [1], [2]]
    assert order(chain, ONE, ONE, before(2)) == [[0], [1], [2], [2]]
    assert order(chain, ONE, ONE, before(0, 3)) == [[0, 2], [1], [2]]


def test_a_dispatch_that_writes_waits_for_those_that_read_the_bytes_before() -> None:
    """Slots 1 and 3 share bytes."""
    given = plan(((0,), 1), ((1,), 2), ((0,), 3), arena={1: 0, 3: 0})
    assert order(given, ONE, ONE, before(3)) == [[0], [1], [2], [2]]
    assert order(given, ONE, ONE, before(0)) == [[0, 2], [1], [2]]


def test_nothing_in_a_step_waits_for_what_only_reports() -> None:
    given = plan(((0,), 1), ((1,), 2))
    assert order(given, ONE, before(0, ERRORS)) == [[0, 1], [1]]
    assert order(given, ONE, before(1, ERRORS)) == [[0], [1, 1]]
    assert order(given, ONE, before(1, 2, ERRORS)) == [[0], [1], [1]]


def test_what_overwrites_waits_for_what_only_reports() -> None:
    """Slot 1, which the check of step 1 reads, loses its bytes to slot 3."""
    given = plan(((0,), 1), ((1, 0), 2), ((0,), 3), arena={1: 0, 3: 0})
    assert order(given, ONE, before(1, ERRORS), ONE) == [[0], [1, 1], [2]]


def test_shared_scratch_is_waited_for_by_what_touches_it() -> None:
    large = Lowered(ONE.dispatches, scratch=(LARGE,))
    early = replace(before(0), scratch=(LARGE,))
    clear = replace(before(~0), scratch=(LARGE,))
    given = plan(((0,), 1), ((0,), 2))
    assert order(given, large, early) == [[0, 1], [1]]
    assert order(given, large, clear) == [[0], [1], [1]]
    small = replace(clear, scratch=(64,))
    assert order(plan(((0,), 1), ((1,), 2)), ONE, small) == [[0, 1], [1]]


CHECKED: Final = plan(((0,), 1), ((1,), 2), ((3,), 4), ((4, 2), 5))
"""Two steps of a network, one of labels, one of both; the last one checks the labels (slot 4)."""
LABELS: Final = before(4, ERRORS)


def test_checks_and_what_they_need_come_first() -> None:
    assert order(CHECKED, ONE, ONE, ONE, LABELS) == [[0, 2], [1, 3], [3]]
    first = order(CHECKED, ONE, ONE, ONE, LABELS, checks_first=True)
    assert first == [[2], [3], [0], [1], [3]]


def test_without_checks_nothing_comes_first() -> None:
    assert order(CHECKED, ONE, TWO, ONE, ONE, checks_first=True) == [[0, 2], [1], [1], [3]]


def test_checks_that_need_many_levels_stay_where_they_are() -> None:
    long = (ONE, ONE, Lowered(ONE.dispatches * CHECK_LEVELS), LABELS)
    assert order(CHECKED, *long, checks_first=True) == order(CHECKED, *long)


def test_a_check_within_a_step_takes_what_the_step_needs_along(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Slots 1 and 3 share bytes, so that the step that checks waits for who reads slot 1."""
    given = plan(((0,), 1), ((1,), 2), ((0,), 3), ((0,), 4), arena={1: 0, 3: 0})
    fails = Lowered((Dispatch("m", (1, 1, 1), (Pointer(0, 0), Pointer(3, 0), END), b""),))
    assert order(given, ONE, ONE, fails, ONE, checks_first=True) == [[0, 3], [1], [2]]
    monkeypatch.setattr(order_of, "CHECK_LEVELS", 3)
    assert order(given, ONE, ONE, fails, ONE, checks_first=True) == [[0], [1], [2], [3]]


def test_nothing_overwrites_what_a_check_leaves_in_shared_scratch() -> None:
    """Step 1 marks in scratch and reports, then reads its marks; step 0 has the same scratch."""
    marks = replace(before(0, ~0, ERRORS), scratch=(LARGE,))
    other = Lowered(ONE.dispatches, scratch=(LARGE,))
    given = plan(((0,), 1), ((0,), 2))
    assert order(given, other, marks, checks_first=True) == [[0], [1], [1]]
    own = replace(marks, scratch=(64,))
    assert order(given, other, own, checks_first=True) == [[1], [0, 1]]


def test_the_first_check_waits_for_numbers_that_it_reads() -> None:
    labels = (replace(s, kind=SlotKind.SCALAR) if s.index == 3 else s for s in CHECKED.slots)
    given = replace(CHECKED, slots=tuple(labels), inputs=(0,), scalars=(3,))
    every = [touching(given, i, low) for i, low in enumerate((ONE, ONE, ONE, LABELS))]
    found = [(f.step, f.barrier) for f in flatten(given, every, checks_first=True)]
    assert found == [(2, True), (3, True), (0, True), (1, True), (3, True)]


BESIDE: Final = (((0,), 1), ((0,), 2), ((1,), 3), ((3, 2), 4))
"""Step 1 could run beside step 0 or beside step 2, before step 3 reads what both give."""
APART: Final = {1: 0, 2: 64, 3: 128, 4: 192}


def test_small_dispatches_are_as_late_as_what_needs_them() -> None:
    given = plan(*BESIDE, arena=APART)
    assert order(given, ONE, ONE, ONE, ONE) == [[0, 1], [2], [3]]
    assert order(given, ONE, SMALL, ONE, ONE) == [[0], [1, 2], [3]]
    assert order(given, ONE, SMALL, SMALL, ONE) == [[0], [1, 2], [3]]
    twice = Lowered(SMALL.dispatches * 2)
    assert order(given, ONE, twice, ONE, ONE) == [[0, 1], [1, 2], [3]]
    last = plan(*BESIDE[:3], arena=APART)
    assert order(last, ONE, SMALL, ONE) == [[0], [1, 2]], "nothing needs it"


def test_small_dispatches_are_early_enough_for_who_overwrites_what_they_read() -> None:
    """Slots 2 and 4 share bytes: step 1 reads 2 before step 3 writes 4."""
    given = plan(((0,), 2), ((2,), 1), ((0,), 3), ((3,), 4), ((4,), 5), arena={2: 0, 3: 64, 4: 0})
    assert order(given, ONE, SMALL, ONE, ONE, ONE) == [[0, 2], [1], [3], [4]]


def test_what_the_host_waits_for_is_early_however_small() -> None:
    given = plan(*BESIDE, arena=APART)
    reports = replace(before(0, ERRORS), dispatches=before(0, ERRORS).dispatches[:1])
    small = Lowered((replace(reports.dispatches[0], groups=(1, 1, 1)),))
    assert order(given, ONE, small, ONE, ONE) == [[0, 1], [2], [3]]
    result = plan(*BESIDE, arena={1: 0, 3: 128, 4: 192})  # slot 2 is copied to the host
    assert order(result, ONE, SMALL, ONE, ONE) == [[0, 1], [2], [3]]
    large = tuple(replace(s, shape=(1000,)) if s.index == 2 else s for s in result.slots)
    assert order(replace(result, slots=large), ONE, SMALL, ONE, ONE) == [[0], [1, 2], [3]]


def test_small_dispatches_keep_their_turn_with_shared_scratch() -> None:
    some = Lowered(SMALL.dispatches, scratch=(LARGE,))
    assert order(plan(*BESIDE, arena=APART), ONE, some, ONE, ONE) == [[0, 1], [2], [3]]

"""Temporaries share the arena: soundly, aligned, and in less space than side by side."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest
from graphs import leaf, plan_of, training_step
from hypothesis import given, settings
from hypothesis import strategies as st

from vkml_core.graph import Node, build
from vkml_core.plan import Slot, SlotKind
from vkml_core.schedule.memory import ALL_APART, APART
from vkml_core.schedule.ranges import RangeMap
from vkml_core.verify import verify


def tangle(dice: random.Random, count: int) -> Node:
    """Make a graph whose temporaries have many sizes and lifetimes."""
    alive = [leaf(3)]
    for _ in range(count):
        one = build.sum(dice.choice(alive[-20:]), axes=(0,))
        wide = build.expand(build.reshape(one, shape=(1,)), shape=(dice.randint(1, 60),))
        alive.append(build.neg(wide))
    total = build.sum(alive[0], axes=(0,))
    for node in alive[1:]:
        total = total + build.sum(node, axes=(0,))
    return total


@given(dice=st.randoms(use_true_random=False), alignment=st.sampled_from((1, 4, 64)))
@settings(max_examples=60)
def test_tangled_lifetimes_never_lose_bytes(dice: random.Random, alignment: int) -> None:
    verify(plan_of([tangle(dice, 60)], alignment=alignment).plan, alignment=alignment)


@pytest.mark.parametrize("fusion", [False, True])
def test_a_training_step_needs_less_than_its_temporaries_together(fusion: bool) -> None:
    roots, donated = training_step(batch=256)
    plan = plan_of(roots, donated, fusion=fusion, alignment=16).plan
    assert plan.notes["arena_bytes"] == plan.arena
    sizes = [s.nbytes for s in plan.slots if s.kind is SlotKind.TEMP]
    assert plan.notes["temp_bytes"] == sum(sizes)
    assert max(sizes) < plan.arena < sum(sizes)


def test_a_chain_needs_two_ranges() -> None:
    node = leaf(100)
    for _ in range(50):
        node = build.neg(build.abs(node))
    assert plan_of([node], alignment=64).plan.arena == 2 * 448


def test_slots_without_bytes_take_no_room() -> None:
    plan = plan_of([build.neg(build.abs(leaf(0, 5)))]).plan
    assert (len(plan.steps), plan.arena, plan.barriers) == (2, 0, ())
    verify(plan, alignment=64)


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 12)), max_size=40),
    st.integers(0, 40),
    st.integers(0, 12),
)
def test_a_range_map_says_who_put_each_byte(
    puts: list[tuple[int, int]], start: int, length: int
) -> None:
    ranges, owner = RangeMap(), [-1] * 60
    for who, (at, count) in enumerate(puts):
        ranges.put(at, at + count, who)
        owner[at : at + count] = [who] * count
    window = owner[start : start + length]
    assert set(ranges.owners(start, start + length)) == set(window) - {-1}
    for who in (set(window) | {0}) - {-1}:
        assert ranges.owned_by(start, start + length, who) == all(o == who for o in window)


@given(dice=st.randoms(use_true_random=False), alignment=st.sampled_from((1, 4, 64)))
@settings(max_examples=60)
def test_no_slot_crosses_a_page(dice: random.Random, alignment: int) -> None:
    roots = [tangle(dice, 60)]
    plan = plan_of(roots, alignment=alignment, max_allocation=300).plan
    verify(plan, alignment=alignment)
    page = 300 // alignment * alignment
    for slot in plan.slots:
        if slot.offset is not None and slot.nbytes:
            assert slot.offset // page == (slot.offset + slot.nbytes - 1) // page
    whole = plan_of(roots, alignment=alignment).plan
    assert whole.arena <= plan.arena < whole.arena + 4 * page


def test_a_slot_larger_than_a_page_begins_one() -> None:
    plan = plan_of([build.neg(build.abs(build.neg(leaf(100))))], alignment=64, max_allocation=192)
    assert sorted(s.offset for s in plan.plan.slots if s.offset is not None) == [0, 576]


def bytes_of(slot: Slot) -> range:
    assert slot.offset is not None
    return range(slot.offset, slot.offset + slot.nbytes)


@given(dice=st.randoms(use_true_random=False), alignment=st.sampled_from((1, 4, 64)))
@settings(max_examples=60)
def test_small_slots_have_bytes_of_their_own_where_steps_run_side_by_side(
    dice: random.Random, alignment: int
) -> None:
    roots = [tangle(dice, 60)]
    plan = plan_of(roots, alignment=alignment, side_by_side=True, max_allocation=300).plan
    verify(plan, alignment=alignment)
    taken = sorted(
        (bytes_of(s) for s in plan.slots if s.kind is SlotKind.TEMP and s.nbytes),
        key=lambda r: r.start,
    )
    assert all(a.stop <= b.start for a, b in pairwise(taken))
    again = plan_of(roots, alignment=alignment, side_by_side=True, max_allocation=300).plan
    assert [s.offset for s in again.slots] == [s.offset for s in plan.slots]


@pytest.mark.parametrize("nbytes", [APART, APART + 4, APART * 3 // 4])
def test_memory_of_its_own_is_for_few_and_small_slots(nbytes: int) -> None:
    """A chain needs two ranges, and what small slots have to themselves is bounded."""
    node, count = leaf(nbytes // 4), 2 * ALL_APART // nbytes
    for _ in range(count):
        node = build.cumsum(node, axis=0)
    plan = plan_of([build.cumsum(node, axis=0)], side_by_side=True).plan
    verify(plan, alignment=64)
    own = ALL_APART // nbytes if nbytes <= APART else 0
    padded = -(-nbytes // 64) * 64
    assert plan.arena == (own + 2) * padded

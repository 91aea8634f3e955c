"""Scheduled plans compute what the graph says, in every order that their barriers allow."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate, combinations

import numpy as np
import pytest
from graphs import Program, capabilities, plan_of, training_step
from hypothesis import given, settings
from hypothesis import strategies as st
from null_device import NullBuffer, NullDevice, evaluate

from vkml_core.graph import Node, pending_inputs, reachable
from vkml_core.ops.spec import Kind
from vkml_core.plan import Hazard, Plan, SlotKind
from vkml_core.schedule import Scheduled
from vkml_core.schedule.clean import deduplicate, prune
from vkml_core.schedule.early import move_up
from vkml_core.schedule.group import group
from vkml_core.schedule.hazards import add_barriers
from vkml_core.schedule.lower import lower, needed_inputs
from vkml_core.schedule.memory import place
from vkml_core.schedule.state import write_in_place
from vkml_core.verify import verify

PROGRAMS = st.randoms(use_true_random=False)
ALIGNMENTS = st.sampled_from((1, 16, 64, 256))


def draw(dice: random.Random, most: int = 60) -> tuple[list[Node], list[Node]]:
    """Make a random program: its roots and the leaves that may be overwritten."""
    program = Program(dice)
    program.grow(dice.randint(5, most))
    late = program.nodes[-20:]
    roots = [dice.choice(late) for _ in range(dice.randint(1, 8))]
    roots += [n for n in program.nodes if n.op.kind is Kind.ASSIGN and dice.random() < 0.7]
    return roots, [n for n in program.leaves if dice.random() < 0.6]


def last_assigned(roots: Sequence[Node], leaf: Node) -> Node:
    """Give the last assignment to `leaf` that the roots' values depend on, or the leaf itself."""
    found = leaf
    for node in reachable(roots, needed_inputs):
        dest = node
        while dest.op.kind is Kind.ASSIGN and dest.storage is None:
            dest = dest.inputs[0]
        if dest is leaf:
            found = node
    return found


def check_run(
    scheduled: Scheduled, roots: Sequence[Node], donated: Sequence[Node], device: NullDevice
) -> None:
    """Run on the null device and compare every output and every leaf with the graph's meaning."""
    order = reachable(roots, pending_inputs)
    expected = evaluate(roots)
    held = {
        n.serial: b for n in order if isinstance(b := n.storage and n.storage.buffer, NullBuffer)
    }
    before = {serial: buffer.symbols.copy() for serial, buffer in held.items()}
    buffers = [held[order[i].serial] for i in scheduled.inputs]
    numbers = [v for i in scheduled.scalars if (v := order[i].value) is not None]
    outputs = device.compile(scheduled.plan).run(buffers, numbers)
    for root, output in zip(roots, outputs, strict=True):
        wanted = expected[root.serial]
        assert output.nbytes == wanted.size * root.dtype.itemsize
        np.testing.assert_array_equal(output.symbols, wanted.reshape(-1), repr(root))
    for node in order:
        if node.serial in held:
            final = last_assigned(roots, node) if node in donated else node
            left = held[node.serial].symbols
            np.testing.assert_array_equal(left, expected[final.serial].reshape(-1), repr(node))
            left[:] = before[node.serial]


@given(dice=PROGRAMS, fusion=st.booleans(), alignment=ALIGNMENTS, side_by_side=st.booleans())
@settings(max_examples=400)
def test_every_allowed_order_gives_the_graphs_meaning(
    dice: random.Random, fusion: bool, alignment: int, side_by_side: bool
) -> None:
    roots, donated = draw(dice)
    scheduled = plan_of(
        roots, donated, fusion=fusion, alignment=alignment, side_by_side=side_by_side
    )
    for order in (None, random.Random(1), random.Random(2)):
        device = NullDevice(capabilities(fusion=fusion, alignment=alignment), order)
        check_run(scheduled, roots, donated, device)


@pytest.mark.parametrize("side_by_side", [False, True])
@pytest.mark.parametrize("fusion", [False, True])
def test_a_training_step_gives_the_graphs_meaning(fusion: bool, side_by_side: bool) -> None:
    roots, donated = training_step()
    scheduled = plan_of(roots, donated, fusion=fusion, side_by_side=side_by_side)
    for seed in range(20):
        device = NullDevice(capabilities(fusion=fusion), random.Random(seed))
        check_run(scheduled, roots, donated, device)


@given(dice=PROGRAMS, alignment=ALIGNMENTS)
@settings(max_examples=100)
def test_plans_are_sound_after_every_pass(dice: random.Random, alignment: int) -> None:
    roots, donated = draw(dice)
    plan = lower(reachable(roots, pending_inputs), roots, donated).plan
    verify(plan, final=False)
    for each in (deduplicate, group, write_in_place, prune, move_up):
        plan = each(plan)
        verify(plan, final=False)
    plan = add_barriers(place(plan, alignment=alignment, apart=True))
    verify(plan, alignment=alignment)
    wanted = plan_of(roots, donated, fusion=True, alignment=alignment, side_by_side=True)
    assert plan == wanted.plan


def byte_ranges(plan: Plan, slots: Sequence[int]) -> list[tuple[object, int, int]]:
    """Give (memory, start, stop) of slots; all TEMP slots are in one memory."""
    found: list[tuple[object, int, int]] = []
    for s in set(slots):
        slot = plan.slots[s]
        base = slot.offset or 0
        memory = "arena" if slot.kind is SlotKind.TEMP else s
        found.append((memory, base, base + slot.nbytes))
    return found


def conflicts(plan: Plan) -> dict[tuple[int, int], set[Hazard]]:
    """Map (i, j), i < j, to the kinds of overlap of their bytes: the plain definition."""
    reads = [
        byte_ranges(plan, [o.slot for o in s.operands if 0 not in o.view.shape]) for s in plan.steps
    ]
    writes = [byte_ranges(plan, [s.write]) for s in plan.steps]
    sides = {Hazard.RAW: (writes, reads), Hazard.WAR: (reads, writes), Hazard.WAW: (writes, writes)}
    found: dict[tuple[int, int], set[Hazard]] = {}
    for i, j in combinations(range(len(plan.steps)), 2):
        kinds = {h for h, (a, b) in sides.items() if overlap(a[i], b[j])}
        if kinds:
            found[i, j] = kinds
    return found


def overlap(a: list[tuple[object, int, int]], b: list[tuple[object, int, int]]) -> bool:
    return any(m == n and s < v and u < t for m, s, t in a for n, u, v in b)


def fewest(pairs: Iterable[tuple[int, int]]) -> list[int]:
    """Give the fewest points such that each (i, j) has one in i < point ≤ j."""
    points: list[int] = []
    for i, j in sorted(pairs, key=lambda pair: pair[1]):
        if not points or points[-1] <= i:
            points.append(j)
    return points


@given(dice=PROGRAMS, fusion=st.booleans(), alignment=ALIGNMENTS)
@settings(max_examples=100)
def test_barriers_cover_every_overlap_and_are_the_fewest(
    dice: random.Random, fusion: bool, alignment: int
) -> None:
    roots, donated = draw(dice)
    plan = plan_of(roots, donated, fusion=fusion, alignment=alignment).plan
    found = conflicts(plan)
    for (i, j), kinds in found.items():
        serving = [b.hazards for b in plan.barriers if b.before <= j and b.after >= i]
        assert serving, (i, j)
        assert kinds - {Hazard.WAR} <= frozenset().union(*serving), (i, j)
    assert [b.before for b in plan.barriers] == fewest(found)


@given(dice=PROGRAMS, fusion=st.booleans(), alignment=ALIGNMENTS)
@settings(max_examples=100)
def test_sharing_memory_adds_no_barrier(dice: random.Random, fusion: bool, alignment: int) -> None:
    roots, donated = draw(dice)
    plan = plan_of(roots, donated, fusion=fusion, alignment=alignment).plan
    ends = list(accumulate(s.nbytes for s in plan.slots))
    apart = tuple(
        replace(s, offset=end - s.nbytes) if s.kind is SlotKind.TEMP else s
        for s, end in zip(plan.slots, ends, strict=True)
    )
    alone = add_barriers(replace(plan, slots=apart, arena=ends[-1]))
    assert [b.before for b in plan.barriers] == [b.before for b in alone.barriers]

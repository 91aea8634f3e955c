"""Steps that need not wait stand early; what belongs together stays together."""

from __future__ import annotations

import random
from collections.abc import Sequence

from graphs import Program, capabilities, leaf, plan_of
from hypothesis import given, settings
from hypothesis import strategies as st

from vkml_core.dtypes import int64
from vkml_core.graph import Node, build, pending_inputs, reachable
from vkml_core.ops.spec import Kind
from vkml_core.plan import Plan, SlotKind
from vkml_core.schedule import schedule
from vkml_core.schedule.early import SMALL, move_up
from vkml_core.schedule.hazards import touched
from vkml_core.shapes import Shape
from vkml_core.verify import verify


def ops(plan: Plan) -> list[str]:
    return [step.calls[0].op for step in plan.steps]


def deep(node: Node, length: int = 4) -> Node:
    """Give a chain of so many steps, none of which can be fused."""
    for _ in range(length):
        node = build.cumsum(node, axis=0)
    return node


def early(roots: Sequence[Node], donated: Sequence[Node] = (), *, fusion: bool = True) -> Plan:
    return plan_of(roots, donated, fusion=fusion, side_by_side=True).plan


def test_what_needs_nothing_comes_first_and_its_readers_with_it() -> None:
    late = deep(leaf(8))
    labels = leaf(8)
    counts = build.sum(build.sign(labels), axes=(0,))
    both = [build.cumsum(late, axis=0), build.cumsum(build.sign(labels), axis=0)]
    roots = [
        *both,
        build.cumsum(build.expand(build.reshape(counts, shape=(1,)), shape=(8,)), axis=0),
    ]
    assert ops(plan_of(roots, fusion=True).plan)[:4] == ["cumsum"] * 4
    assert ops(early(roots))[:3] == ["sign", "sum", "cumsum"]


def test_what_reads_nothing_comes_after_it_all_the_same() -> None:
    """An empty operand is no reason to wait, but a plan's steps are in order."""
    empty = build.cumsum(leaf(0, 8), axis=0)
    roots = [deep(leaf(8)), empty, build.cumsum(build.sum(empty, axes=(0,)), axis=0)]
    plan = early(roots)
    verify(plan)
    assert ops(plan).index("sum") > ops(plan).index("cumsum")


def test_an_update_stays_with_the_gradient_that_it_goes_on_with() -> None:
    """A sum moves where a heavier step comes next, not where a STATE is written from it."""
    w, x, late = leaf(8), leaf(8, 8), deep(leaf(8))
    grown = build.sum(x, axes=(0,))
    roots = [late, build.assign(w, w - grown), build.cumsum(grown, axis=0)]
    plan = early(roots, [w])
    at = ops(plan).index("sum")
    assert at == 4
    assert plan.slots[plan.steps[at + 1].write].kind is SlotKind.STATE


def test_what_goes_on_with_a_step_is_not_torn_from_it() -> None:
    """The sum of what is made between two element-wise steps comes after both."""
    made = build.abs(leaf(8))
    more = build.neg(made)
    late = deep(leaf(8))
    wide = build.expand(build.reshape(build.sum(made, axes=(0,)), shape=(1,)), shape=(8,))
    roots = [made, more, late, build.cumsum(wide, axis=0)]
    assert ops(plan_of(roots, fusion=True).plan)[:3] == ["abs", "neg", "cumsum"]
    assert ops(early(roots))[:3] == ["abs", "neg", "sum"]


def test_large_steps_and_those_that_can_fail_stay() -> None:
    n = SMALL // 4
    heavy = [deep(leaf(n)), build.cumsum(build.sign(leaf(n)), axis=0)]
    assert ops(early(heavy)) == ["cumsum"] * 4 + ["sign", "cumsum"]
    a, b = (leaf(8, dtype=int64) for _ in range(2))
    failing = [deep(leaf(8)), build.cumsum(build.floor_divide(a, b), axis=0)]
    assert ops(early(failing)) == ["cumsum"] * 4 + ["floor_divide", "cumsum"]


def test_the_old_value_of_a_state_is_read_before_it_is_written() -> None:
    w = leaf(8)
    late = build.cumsum(build.neg(w), axis=0)
    roots = [build.assign(w, deep(w)), late]
    plan = early(roots, [w])
    written = next(
        i for i, s in enumerate(plan.steps) if plan.slots[s.write].kind is SlotKind.STATE
    )
    reading = next(i for i, s in enumerate(plan.steps) if s.calls[0].op == "neg")
    assert reading < written


def test_a_plan_for_steps_in_turn_is_left_alone() -> None:
    roots = [deep(leaf(8)), build.cumsum(build.sign(leaf(8)), axis=0)]
    order = reachable(roots, pending_inputs)
    plan = schedule(order, roots, capabilities=capabilities(fusion=True)).plan
    assert ops(plan) == ["cumsum"] * 4 + ["sign", "cumsum"]


def shape_of(plan: Plan) -> list[tuple[Shape, int]]:
    return sorted((s.calls[-1].shape, s.write) for s in plan.steps)


@given(dice=st.randoms(use_true_random=False), fusion=st.booleans())
@settings(max_examples=200)
def test_it_is_the_same_steps_each_after_what_it_needs(dice: random.Random, fusion: bool) -> None:
    program = Program(dice)
    program.grow(dice.randint(5, 60))
    roots = [dice.choice(program.nodes[-20:]) for _ in range(4)]
    roots += [n for n in program.nodes if n.op.kind is Kind.ASSIGN]
    donated = [n for n in program.leaves if dice.random() < 0.6]
    plan = plan_of(roots, donated, fusion=fusion).plan
    moved = move_up(plan)
    assert shape_of(moved) == shape_of(plan)
    made = {s.write: i for i, s in enumerate(moved.steps)}
    for i, step in enumerate(moved.steps):
        for slot in touched(step):
            if plan.slots[slot].kind in (SlotKind.TEMP, SlotKind.OUTPUT):
                assert made[slot] < i
    assert move_up(plan) == moved

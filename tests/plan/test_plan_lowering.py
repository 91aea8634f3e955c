"""What the first passes make of a graph: views, outputs, assignments, equal and dead steps."""

from __future__ import annotations

import pytest
from graphs import leaf, plan_of
from null_device import NAME

from vkml_core.dtypes import float32, int64
from vkml_core.errors import PlanError
from vkml_core.graph import Node, build, full
from vkml_core.ops.rules import flip, slice_axis, transpose
from vkml_core.ops.spec import REGISTRY
from vkml_core.plan import Plan, SlotKind
from vkml_core.schedule.clean import prune
from vkml_core.shapes import View


def kinds(plan: Plan) -> list[str]:
    """Name the kind of each output's slot."""
    return [plan.slots[s].kind.value for s in plan.outputs]


def test_views_fold_into_the_operands_of_their_users() -> None:
    x = leaf(4, 6)
    part = transpose(build.slice(x, start=(1, 5), length=(3, 2), step=(1, -3)))
    plan = plan_of([build.neg(part)]).plan
    assert list(plan.ops()) == ["neg"]
    assert plan.steps[0].operands[0].view == View((2, 3), (-3, 6), 11)


def test_one_view_of_two_operands_is_read_once() -> None:
    x = leaf(3)
    plan = plan_of([build.mul(x, build.detach(x))]).plan
    assert (len(plan.steps[0].operands), plan.steps[0].calls[0].args) == (1, (0, 0))


@pytest.mark.parametrize("new", [(6,), (2, 3), (1, 6, 1), (3, 1, 2)])
def test_reshaping_what_is_in_order_costs_nothing(new: tuple[int, ...]) -> None:
    plan = plan_of([build.neg(build.reshape(build.abs(leaf(3, 2)), shape=new))]).plan
    assert list(plan.ops()) == ["abs", "neg"]


def test_a_view_that_strides_cannot_express_is_copied_first() -> None:
    flat = build.reshape(transpose(leaf(3, 2)), shape=(6,))
    plan = plan_of([build.neg(flat)]).plan
    assert list(plan.ops()) == ["contiguous", "neg"]
    assert plan.slots[plan.steps[0].write].kind is SlotKind.TEMP


def test_contiguous_copies_only_what_is_not() -> None:
    rows, columns = slice_axis(leaf(4, 3), 0, 1, 2), slice_axis(leaf(4, 3), 1, 1, 2)
    plan = plan_of([build.neg(build.contiguous(rows)), build.neg(build.contiguous(columns))]).plan
    assert list(plan.ops()) == ["neg", "contiguous", "neg"]


def test_numbers_are_bound_not_baked() -> None:
    scheduled = plan_of([leaf(2, 3) * 2.0])
    (slot,) = scheduled.plan.scalars
    assert scheduled.plan.slots[slot].shape == ()
    assert scheduled.plan.steps[0].operands[1].view == View((2, 3), (0, 0))


def test_equal_numbers_stay_apart_since_they_may_differ_next_time() -> None:
    x = leaf(2)
    plan = plan_of([(x * 2.0) + (x * 2.0)]).plan
    assert (len(plan.scalars), len(plan.steps)) == (2, 3)


def test_bindings_are_positions_in_the_order() -> None:
    x, y = leaf(2), leaf(2)
    scheduled = plan_of([build.sub(y, x) * 3.0])
    assert (scheduled.inputs, scheduled.scalars) == ((0, 1), (3,))
    assert [scheduled.plan.slots[s].kind.value for s in scheduled.plan.inputs] == ["input"] * 2
    y_first = scheduled.plan.steps[0].operands[0].slot
    assert scheduled.plan.inputs.index(y_first) == 1


X = leaf(4, 3)
DONE = build.abs(X)


@pytest.mark.parametrize(
    ("root", "kind", "ops"),
    [
        (X, "input", []),
        (build.reshape(X, shape=(12,)), "input", []),
        (transpose(X), "output", ["contiguous"]),
        (slice_axis(X, 0, 0, 2), "output", ["contiguous"]),
        (build.expand(leaf(), shape=(2,)), "output", ["contiguous"]),
        (full((), 1.0, float32, NAME), "output", ["contiguous"]),
        (full((2,), 1.0, float32, NAME), "output", ["contiguous"]),
        (build.reshape(DONE, shape=(12,)), "output", ["abs"]),
        (transpose(DONE), "output", ["abs", "contiguous"]),
        (build.assign(X, DONE), "output", ["abs"]),
    ],
    ids=lambda v: v.op.name if isinstance(v, Node) else str(v),
)
def test_a_root_shares_the_slot_that_holds_exactly_it(
    root: Node, kind: str, ops: list[str]
) -> None:
    plan = plan_of([root]).plan
    assert (kinds(plan), list(plan.ops())) == ([kind], ops)


def test_roots_with_equal_elements_share_one_slot() -> None:
    plan = plan_of([DONE, build.detach(DONE), build.abs(X)]).plan
    assert len(set(plan.outputs)) == 1


def test_what_no_root_needs_is_not_scheduled() -> None:
    x = leaf(3)
    dest = build.assign(x, build.exp(x))
    plan = plan_of([build.assign(dest, build.neg(x))]).plan
    assert list(plan.ops()) == ["neg"]


def test_prune_drops_what_nothing_reads() -> None:
    plan = plan_of([build.neg(build.abs(leaf(3)))]).plan
    shorter = prune(Plan(plan.slots, plan.steps, plan.inputs, plan.scalars, plan.inputs))
    assert (shorter.steps, len(shorter.slots)) == ((), 1)


def test_equal_steps_run_once_even_random_ones() -> None:
    x = leaf(4)
    seed, offset = full((), 1, int64, NAME), full((), 2, int64, NAME)
    bits = [build.random_bits(seed, offset, shape=(4,), bits=b) for b in (24, 24, 8)]
    roots = [build.add(build.exp(x), build.exp(x)), *bits]
    assert sorted(plan_of(roots).plan.ops()) == ["add", "exp", "random_bits", "random_bits"]


def test_steps_with_other_views_or_attributes_are_not_equal() -> None:
    x = leaf(2, 2)
    sums = [build.sum(v, axes=(a,)) for v in (x, transpose(x)) for a in (0, 1)]
    assert len(plan_of(sums).plan.steps) == 4


def test_steps_that_use_their_operands_otherwise_are_not_equal() -> None:
    x, y = leaf(2), leaf(2)
    assert len(plan_of([build.cat(x, y, z, axis=0) for z in (x, y)]).plan.steps) == 2


def test_a_root_equal_to_a_temporary_takes_its_place() -> None:
    x = leaf(2)
    plan = plan_of([build.neg(build.exp(x)), build.exp(x)]).plan
    assert (kinds(plan), list(plan.ops())) == (["output"] * 2, ["exp", "neg"])


def updated(weights: Node) -> Node:
    return build.assign(weights, weights - build.exp(weights) * 0.1)


@pytest.mark.parametrize("fusion", [False, True])
def test_a_donated_leaf_is_overwritten_by_the_last_step(fusion: bool) -> None:
    w = leaf(3)
    plan = plan_of([updated(w)], [w], fusion=fusion).plan
    assert "contiguous" not in plan.ops()
    assert (kinds(plan), plan.outputs) == (["state"], (plan.steps[-1].write,))


def test_without_donation_an_assignment_is_its_source() -> None:
    w = leaf(3)
    assert kinds(plan_of([updated(w)]).plan) == ["output"]
    assert kinds(plan_of([build.assign(w, leaf(3))]).plan) == ["input"]


def test_a_later_read_of_the_old_value_makes_a_copy() -> None:
    w = leaf(3)
    new = updated(w)
    plan = plan_of([new, build.sin(w)], [w]).plan
    assert list(plan.ops())[-2:] == ["sin", "contiguous"]
    assert plan.steps[-1].write == plan.outputs[0]


def test_a_step_that_moves_elements_does_not_write_over_them() -> None:
    w = leaf(3, 3)
    source = build.add(w, transpose(w))
    assert list(plan_of([build.assign(w, source)], [w]).plan.ops()) == ["add", "contiguous"]
    source = build.matmul(w, w)
    assert list(plan_of([build.assign(w, source)], [w]).plan.ops()) == ["matmul", "contiguous"]


def test_swapped_states_pass_through_a_temporary() -> None:
    a, b = leaf(3), leaf(3)
    plan = plan_of([build.assign(a, b), build.assign(b, a)], [a, b]).plan
    assert kinds(plan) == ["state", "state"]
    assert list(plan.ops()) == ["contiguous"] * 3


def test_assigning_a_leaf_to_itself_does_nothing() -> None:
    w = leaf(3)
    plan = plan_of([build.assign(w, build.detach(w))], [w]).plan
    assert (kinds(plan), plan.steps) == (["input"], ())


def test_a_root_that_is_the_old_value_gets_its_own_slot() -> None:
    w = leaf(3)
    plan = plan_of([updated(w), build.detach(w)], [w]).plan
    assert kinds(plan) == ["state", "output"]


def test_views_of_an_assigned_node_share_its_slot_only_in_order() -> None:
    w = leaf(3, 3)
    new = updated(w)
    roots = [new, build.reshape(new, shape=(9,)), transpose(new), slice_axis(new, 0, 0, 2)]
    assert kinds(plan_of(roots, [w]).plan) == ["state", "state", "output", "output"]


def test_a_root_that_is_the_source_does_not_share_the_state() -> None:
    w = leaf(3)
    new = w * 0.5
    plan = plan_of([build.assign(w, new), new], [w]).plan
    assert kinds(plan) == ["state", "output"]


def test_only_the_last_of_several_assignments_is_in_place() -> None:
    w = leaf(3)
    first = build.assign(w, build.exp(w))
    second = build.assign(first, build.sin(first))
    assert kinds(plan_of([first, second], [w]).plan) == ["output", "state"]


def test_a_leaf_without_storage_is_an_error() -> None:
    lost = Node(REGISTRY["data"], (), None, (3,), float32, NAME)
    with pytest.raises(PlanError, match=r"leaf %\d+ \(data\) has no storage"):
        plan_of([build.neg(lost)])


def test_flipped_views_keep_their_direction() -> None:
    plan = plan_of([build.neg(flip(leaf(5), (0,)))]).plan
    assert plan.steps[0].operands[0].view == View((5,), (-1,), 4)

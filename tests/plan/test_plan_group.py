"""Fusion: what joins in one step, what does not, and that float16 keeps its roundings."""

from __future__ import annotations

import pytest
from graphs import capabilities, leaf, plan_of

from vkml_core.dtypes import float16, float32, int32
from vkml_core.graph import Node, build, pending_inputs, reachable
from vkml_core.ops.rules import transpose
from vkml_core.plan import Plan
from vkml_core.schedule import schedule
from vkml_core.schedule.group import group
from vkml_core.schedule.lower import lower
from vkml_core.shapes import View


def steps(*roots: Node) -> list[list[str]]:
    """Name the calls of each step."""
    return [[c.op for c in s.calls] for s in plan_of(roots, fusion=True).plan.steps]


def lowered(root: Node) -> Plan:
    return lower(reachable([root], pending_inputs), [root], ()).plan


def test_a_chain_is_one_step() -> None:
    x = leaf(4)
    assert steps(build.exp(x * x + x)) == [["mul", "add", "exp"]]


def test_only_devices_that_say_so_get_fused_steps() -> None:
    root = build.exp(build.neg(leaf(4)))
    order = reachable([root], pending_inputs)
    plan = schedule(order, [root], capabilities=capabilities(fusion=False)).plan
    assert [len(s.calls) for s in plan.steps] == [1, 1]


def test_a_diamond_is_one_step() -> None:
    y = build.neg(leaf(4))
    assert steps(build.mul(y, build.sigmoid(y))) == [["neg", "sigmoid", "mul"]]


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (build.matmul(leaf(4, 3), leaf(3, 5)), "matmul"),
        (build.sum(leaf(4, 5, 3), axes=(2,)), "sum"),
        (build.amax(leaf(4, 5, 3), axes=(2,)), "amax"),
    ],
)
def test_element_wise_work_follows_a_head(head: Node, name: str) -> None:
    other = build.exp(leaf(4, 5))
    assert steps(build.relu(build.add(other, head))) == [[name, "exp", "add", "relu"]]


def test_a_heads_operands_come_first() -> None:
    a, b = leaf(4, 3), leaf(3, 5)
    plan = plan_of([build.exp(leaf(4, 5)) + build.matmul(a, b)], fusion=True).plan
    assert plan.steps[0].calls[0].args == (0, 1)


def test_two_heads_do_not_share_a_step() -> None:
    a, b = build.matmul(leaf(4, 3), leaf(3, 5)), build.matmul(leaf(4, 3), leaf(3, 5))
    assert steps(build.add(a, b)) == [["matmul"], ["matmul", "add"]]


def test_what_two_steps_read_is_kept() -> None:
    y = build.neg(leaf(4, 4))
    assert steps(build.exp(y), build.sum(y, axes=(0,))) == [["neg"], ["exp"], ["sum"]]


def test_what_is_asked_for_is_kept() -> None:
    y = build.neg(leaf(4))
    assert steps(y, build.exp(y)) == [["neg"], ["exp"]]


def test_what_is_cheap_is_computed_in_the_order_in_which_it_is_read() -> None:
    y = build.neg(leaf(4, 4))
    assert steps(build.exp(transpose(y))) == [["neg", "exp"]]
    assert steps(build.exp(build.expand(y, shape=(2, 4, 4)))) == [["neg", "exp"]]
    (step,) = plan_of([build.exp(transpose(y))], fusion=True).plan.steps
    assert step.operands[0].view == View((4, 4), (1, 4))


def test_what_is_not_cheap_is_not_computed_again() -> None:
    y = build.exp(leaf(4, 4))
    assert steps(build.neg(transpose(y))) == [["exp"], ["neg"]]
    assert steps(build.neg(build.expand(y, shape=(2, 4, 4)))) == [["exp"], ["neg"]]
    long = build.neg(build.neg(build.neg(build.neg(leaf(4, 4)))))
    assert steps(build.exp(transpose(long))) == [["neg"] * 4, ["exp"]]


def test_the_same_elements_in_another_shape_are_one_step() -> None:
    y = build.exp(leaf(4, 4))
    assert steps(build.neg(build.reshape(y, shape=(16,)))) == [["exp", "neg"]]
    total = build.reshape(build.sum(leaf(4, 5), axes=(1,)), shape=(4, 1))
    assert steps(build.log(total)) == [["sum", "log"]]
    (step,) = plan_of([build.log(total) + leaf(4, 1)], fusion=True).plan.steps
    assert {c.shape for c in step.calls} == {(4,)}


def test_strides_that_cannot_be_expressed_keep_steps_apart() -> None:
    y = build.neg(transpose(leaf(4, 5)))
    assert steps(build.exp(build.reshape(y, shape=(20,)))) == [["neg"], ["exp"]]
    assert steps(build.exp(transpose(y))) == [["neg"], ["exp"]]


def test_what_is_read_through_two_views_is_kept() -> None:
    y = build.neg(leaf(4, 4))
    assert steps(build.mul(y, transpose(y))) == [["neg"], ["mul"]]


def test_a_product_that_is_read_transposed_is_computed_transposed() -> None:
    a, b = leaf(4, 3), leaf(3, 5)
    plan = plan_of([build.neg(transpose(build.matmul(a, b)))], fusion=True).plan
    (step,) = plan.steps
    assert [c.op for c in step.calls] == ["matmul", "neg"]
    assert [o.view.shape for o in step.operands] == [(5, 3), (3, 4)]
    assert [o.view.strides for o in step.operands] == [(1, 5), (1, 3)]
    total = build.sum(leaf(4, 5, 3), axes=(2,))
    assert steps(build.neg(transpose(total))) == [["sum"], ["neg"]]


@pytest.mark.parametrize("op", ["floor_divide", "remainder", "pow"])
def test_what_can_fail_stays_where_it_is(op: str) -> None:
    """Of several errors the first in program order is told."""
    x, y = leaf(4, dtype=int32), leaf(4, dtype=int32)
    assert steps(build.neg(getattr(build, op)(build.neg(x), y))) == [["neg", op], ["neg"]]
    a, b = leaf(4), leaf(4)
    assert steps(build.neg(getattr(build, op)(build.neg(a), b))) == [["neg", op, "neg"]]


def test_nothing_is_computed_inside_a_head() -> None:
    assert steps(build.sum(build.exp(leaf(4, 4)), axes=(0,))) == [["exp"], ["sum"]]


def test_what_a_head_reads_is_not_computed_after_it() -> None:
    y = build.neg(leaf(4, 4))
    assert steps(build.matmul(y, leaf(4, 4)) + y) == [["neg"], ["matmul", "add"]]


def test_other_kinds_are_left_alone() -> None:
    y = build.cumsum(build.neg(leaf(4)), axis=0)
    assert steps(build.exp(y)) == [["neg"], ["cumsum"], ["exp"]]


def test_operands_and_calls_are_limited() -> None:
    total = leaf(4)
    for _ in range(9):
        total = total + leaf(4)
    plan = lowered(total)
    assert [len(s.operands) for s in group(plan).steps] == [8, 3]
    assert [len(s.operands) for s in group(plan, operands=4).steps] == [4, 4, 4]
    assert [len(s.calls) for s in group(plan, operands=99, calls=4).steps] == [4, 4, 1]


def test_each_float16_result_keeps_its_own_narrowing() -> None:
    x = leaf(4, dtype=float16)
    wide = build.cast(build.mul(x, x) + x, dtype=float32)
    (step,) = plan_of([build.exp(wide)], fusion=True).plan.steps
    assert [c.dtype.name for c in step.calls] == ["float16", "float16", "float32", "float32"]

"""Bytes and operations of steps, by hand."""

from __future__ import annotations

import pytest

import vkml
from vkml_core.plan import Call, Plan
from vkml_core.work import Done, Work, work_of

F32 = 4


def ones(*shape: int) -> vkml.Tensor:
    return vkml.ones(*shape).realize()


def works(plan: Plan) -> list[Work]:
    return [work_of(step, plan.slots) for step in plan.steps]


def only(x: vkml.Tensor) -> Work:
    (found,) = works(vkml.plan(x))
    return found


def test_elementwise() -> None:
    found = only(ones(5, 7) + ones(5, 7))
    assert (found.ops, found.shapes) == (("add",), ((5, 7),) * 3)
    assert (found.read, found.written, found.flops) == (2 * 35 * F32, 35 * F32, 35)


def test_what_is_broadcast_is_read_once() -> None:
    found = only(ones(5, 7) * ones(7))
    assert (found.read, found.flops) == ((35 + 7) * F32, 35)


def test_a_number_is_read_once() -> None:
    assert only(ones(5, 7) * 3.0).read == (35 + 1) * F32


def test_matmul_counts_multiply_adds_twice() -> None:
    found = only(ones(2, 3, 4) @ ones(2, 4, 5))
    assert found.flops == 2 * (2 * 3 * 5) * 4
    assert (found.read, found.written) == ((24 + 40) * F32, 30 * F32)


def test_reductions_look_at_every_element() -> None:
    assert [w.flops for w in works(vkml.plan(ones(6, 8).sum(1)))] == [48]


@pytest.mark.parametrize("groups", [1, 2])
def test_gradients_of_a_convolution_are_as_much_work_as_it_is(groups: int) -> None:
    x, w = ones(2, 4, 6, 6).requires_grad_(), ones(8, 4 // groups, 3, 3).requires_grad_()
    y = vkml.conv2d(x, w, padding=1, groups=groups)
    forward = 2 * (2 * 8 * 6 * 6) * (4 // groups * 3 * 3)
    grads = vkml.grad(y, [x, w], vkml.ones_like(y))
    plan = vkml.plan(y, *[g for g in grads if g is not None])
    counts = {w.ops[-1]: w.flops for w in works(plan) if "conv" in w.ops[-1]}
    names = ("conv2d", "conv2d_input_grad", "conv2d_weight_grad")
    assert counts == dict.fromkeys(names, forward)


def test_moves_do_no_arithmetic() -> None:
    found = only(ones(3, 4).T.contiguous())
    assert (found.flops, found.read, found.written) == (0, 12 * F32, 12 * F32)


def test_float16_is_half() -> None:
    x = vkml.ones(10, dtype=vkml.float16).realize()
    assert (only(-x).read, only(-x).dtype) == (20, "float16")


def test_nothing_for_empty_tensors() -> None:
    found = only(ones(0, 3) + ones(0, 3))
    assert (found.read, found.written, found.flops) == (0, 0, 0)


def test_a_kernel_for_two_steps_reads_what_it_hands_on_only_once() -> None:
    x = ones(5, 7)
    plan = vkml.plan((x + 1.0).exp())
    add, exp = plan.steps
    both = Done(
        (add.calls[0], Call("exp", None, (-1,), (5, 7), vkml.float32)),
        add.operands,
        (exp.write,),
    )
    found = work_of(both, plan.slots)
    apart = [work_of(step, plan.slots) for step in plan.steps]
    assert found.ops == ("add", "exp") and found.flops == sum(w.flops for w in apart) == 70
    assert (found.read, found.written) == (apart[0].read, apart[1].written)

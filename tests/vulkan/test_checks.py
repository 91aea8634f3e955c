"""Indices are checked once, early where it pays, and what is found is the oracle's error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import needs_vulkan  # noqa: F401
import numpy as np
import pytest

import vkml
from tests.everywhere import same_everywhere
from vkml_backend_vulkan.kernels import shipped
from vkml_backend_vulkan.layout import can_fail
from vkml_backend_vulkan.lower.checks import Check, check_of, with_checks
from vkml_core import runtime
from vkml_core.plan import Plan

HERE, APART, BEFORE = Check.HERE, Check.APART, Check.BEFORE
N = 6


def plan_of(*tensors: vkml.Tensor) -> Plan:
    return runtime.plan_of([t.node for t in tensors])


def checks(*tensors: vkml.Tensor) -> list[Check]:
    """Tell of each gather and scatter_add, in the order of the steps."""
    steps = with_checks(plan_of(*tensors)).steps
    calls = [call for step in steps for call in step.calls]
    return [check_of(c) for c in calls if c.op in ("gather", "scatter_add")]


@pytest.fixture
def x(name: str) -> vkml.Tensor:
    return vkml.arange(N, device=name).to(vkml.float32).realize()


@pytest.fixture
def index(name: str) -> vkml.Tensor:
    return vkml.tensor([0, 5, 2, 2], device=name).realize()


def test_only_where_the_table_is_later_is_a_kernel_for_the_check(
    x: vkml.Tensor, index: vkml.Tensor
) -> None:
    assert checks(vkml.gather(x, 0, index)) == [HERE]
    assert checks(vkml.gather(x.cumsum(0), 0, index)) == [APART]
    assert checks(vkml.gather(x.cumsum(0), 0, index.cumsum(0))) == [HERE]
    assert checks(vkml.scatter_add(x[:4], 0, index, N)) == [HERE]


Again = Callable[[vkml.Tensor, vkml.Tensor], vkml.Tensor]
SAME: dict[str, Again] = {
    "gathered again": lambda x, i: vkml.gather(x + 1.0, 0, i),
    "added up": lambda x, i: vkml.scatter_add(x[:4], 0, i, N),
    "a larger result": lambda x, i: vkml.scatter_add(x[:4], 0, i, N + 1),
    "another shape": lambda x, i: vkml.gather(x.reshape(1, N), 1, i.reshape(1, 4)),
    "rows": lambda x, i: vkml.index_select(x.reshape(N, 1).expand(N, 3) + 1.0, 0, i),
}
OTHER: dict[str, Again] = {
    "a smaller result": lambda x, i: vkml.scatter_add(x[:4], 0, i, N - 1),
    "a smaller table": lambda x, i: vkml.gather(x[:5], 0, i),
    "a part": lambda x, i: vkml.gather(x, 0, i[1:]),
    "other numbers": lambda x, i: vkml.gather(x, 0, i + 0),
    "another dtype": lambda x, i: vkml.gather(x, 0, i.to(vkml.int32)),
}


@pytest.mark.parametrize("again", SAME.values(), ids=SAME)
def test_what_was_checked_is_not_checked_again(
    x: vkml.Tensor, index: vkml.Tensor, again: Again
) -> None:
    assert checks(vkml.gather(x, 0, index), again(x, index)) == [HERE, BEFORE]


@pytest.mark.parametrize("again", OTHER.values(), ids=OTHER)
def test_what_may_be_wrong_is_checked(x: vkml.Tensor, index: vkml.Tensor, again: Again) -> None:
    assert BEFORE not in checks(vkml.gather(x, 0, index), again(x, index))


def test_no_index_says_nothing_about_others(x: vkml.Tensor, index: vkml.Tensor) -> None:
    none = vkml.gather(x.reshape(1, N)[:0].expand(0, N), 0, index.reshape(1, 4)[:0])
    assert BEFORE not in checks(none, vkml.gather(x, 0, index))


def test_a_loss_has_one_check(name: str) -> None:
    logits = vkml.zeros(4, 3, device=name).realize().requires_grad_()
    labels = vkml.tensor([0, 2, 1, 1], device=name).realize()
    loss = vkml.cross_entropy(logits * 2.0, labels)
    (gradient,) = vkml.grad(loss, [logits])
    plan = plan_of(loss, gradient)
    device: Any = runtime._current(name)
    lowered = shipped().lowered(plan, device.physical.limits)
    assert sum(map(can_fail, lowered)) == 1
    modules = [d.module for low in lowered for d in low.dispatches if low]
    assert sum(m.startswith("index.check") for m in modules) == 1


@pytest.mark.parametrize("count", [1, 4, 40])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("width", [None, 1, 3])
def test_bits(count: int, dtype: str, width: int | None) -> None:
    """40 sources of a target are marked before they are added up."""
    dice = np.random.default_rng(count)
    values = dice.standard_normal((N, width or 1)).astype(np.float32)
    picks = dice.integers(0, N, count).astype(dtype)

    def program(device: str) -> Sequence[vkml.Tensor]:
        table = vkml.tensor(values, device=device).cumsum(0)
        index = vkml.tensor(picks, device=device)
        if width is None:
            table = table.reshape(N)
            picked = vkml.gather(table, 0, index)
        else:
            picked = vkml.index_select(table, 0, index)
            index = index.reshape(count, 1).expand(count, width)
        total = vkml.scatter_add(picked * 0.5, 0, index, N)
        return [picked, total, vkml.gather(total, 0, index), total.cumsum(0)]

    same_everywhere(program)


@pytest.mark.parametrize("count", [4, 40])
@pytest.mark.parametrize("wrong", [-1, N, 2**32, -(2**63)])
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("size", [N, N + 1])
def test_the_first_step_tells(name: str, count: int, wrong: int, late: bool, size: int) -> None:
    picks = np.zeros(count, np.int64)
    picks[count // 2] = wrong
    messages = []
    for device in ("cpu", name):
        table = vkml.ones(N, device=device)
        index = vkml.tensor(picks, device=device)
        picked = vkml.gather(table.cumsum(0) if late else table, 0, index)
        total = vkml.scatter_add(picked, 0, index, size)
        with pytest.raises(IndexError) as error:
            vkml.realize(total, picked)
        messages.append(str(error.value))
    assert messages[0] == messages[1] and messages[0].startswith(f"gather: index {wrong} ")


@pytest.mark.parametrize("count", [4, 40])
def test_a_smaller_result_tells_what_its_table_allowed(name: str, count: int) -> None:
    index = vkml.tensor(np.full(count, N - 1), device=name)
    picked = vkml.gather(vkml.ones(N, device=name).cumsum(0), 0, index)
    with pytest.raises(IndexError, match=f"scatter_add: index {N - 1} .* size {N - 1}"):
        vkml.realize(vkml.scatter_add(picked, 0, index, N - 1))
    assert vkml.scatter_add(picked, 0, index, N).numpy()[-1] == count * N


def test_a_wrong_label_changes_nothing(name: str) -> None:
    """In a compiled step, whose check is far before what it writes."""
    vkml.manual_seed(0)
    net = vkml.nn.Linear(5, 3).to(name)
    optimizer = vkml.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    @vkml.compile
    def step(x: vkml.Tensor, y: vkml.Tensor) -> vkml.Tensor:
        optimizer.zero_grad()
        loss = vkml.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    x = vkml.randn(4, 5, seed=1, device=name).realize()
    good = vkml.tensor([0, 1, 2, 0], device=name)
    losses = [step(x, good).item() for _ in range(3)]
    before = net.weight.numpy().copy()
    for wrong in ([0, 1, 3, 0], [-1, 0, 0, 0]):
        with pytest.raises(IndexError, match="gather: index"):
            step(x, vkml.tensor(wrong, device=name))
        np.testing.assert_array_equal(net.weight.numpy(), before)
    assert step(x, good).item() < losses[-1]


def test_an_index_that_is_overwritten_is_another(x: vkml.Tensor) -> None:
    def program(device: str) -> Sequence[vkml.Tensor]:
        table, index = x.to(device), vkml.tensor([0, 3, 5], device=device).realize()
        first = vkml.gather(table, 0, index)
        index.assign_(index * 0 + 4)
        return [first, vkml.gather(table, 0, index), vkml.scatter_add(first, 0, index, N), index]

    same_everywhere(program)

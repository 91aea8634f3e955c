"""A step is lazy: one submission and one plan, and few operations for many parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import vkml
from tests.optim.configurations import (
    OPTIMISERS,
    Configuration,
    batches,
    every,
    model,
    stateful,
    submissions,
)
from vkml import nn, optim
from vkml_core import runtime

CHANGES: dict[str, Any] = {
    "lr": lambda i: 0.1 / (i + 1),
    "momentum": lambda i: 0.5 + i / 20,
    "alpha": lambda i: 0.9 + i / 100,
    "betas": lambda i: (0.8 + i / 50, 0.9 + i / 100),
    "eps": lambda i: 1e-8 * (i + 1),
    "weight_decay": lambda i: 0.01 * (i + 1),
}


def losses(net: nn.Module, optimizer: optim.Optimizer, steps: int) -> Any:
    for x, y in batches(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(vkml.tensor(x)), vkml.tensor(y))
        loss.backward()
        yield loss


@every
@pytest.mark.parametrize("read", [True, False], ids=["loss read", "nothing read"])
def test_a_step_is_one_submission(configuration: Configuration, read: bool) -> None:
    net = model()
    optimizer = configuration.make(net.parameters())
    start = submissions()
    for loss in losses(net, optimizer, 5):
        optim.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        optimizer.state_dict()
        if read:
            loss.item()
    vkml.realize(*net.parameters())
    assert submissions() - start == 5


@every
def test_changed_options_make_no_new_plan(configuration: Configuration) -> None:
    net = model()
    optimizer = configuration.make(net.parameters())
    plans = []
    for i, loss in enumerate(losses(net, optimizer, 7)):
        group = optimizer.param_groups[0]
        for name in group:
            if name in CHANGES and group[name]:
                group[name] = CHANGES[name](i)
        optim.clip_grad_norm_(net.parameters(), 1.0 + i)
        optim.clip_grad_value_(net.parameters(), 0.5 + i)
        optimizer.step()
        loss.item()
        plans.append(runtime.cache_info()["plans"])
    assert plans[1:] == [plans[1]] * 6  # the first step also makes the state


def operations(count: int, name: str, **options: Any) -> list[str]:
    """List the operations of the plan of a second step of `count` parameters, views aside."""
    params = [nn.Parameter(vkml.full((2, k + 1), 0.5)) for k in range(count)]
    optimizer = OPTIMISERS[name][0](params, **options)
    for _ in range(2):
        for p in params:
            p.grad = vkml.ones(*p.shape).realize()
        optimizer.step()
    plan = vkml.plan(params[0])
    return [call.op for step in plan.steps for call in step.calls if call.op != "assign"]


@pytest.mark.parametrize(
    ("name", "options", "each", "common"),
    [
        ("SGD", {"momentum": 0.9}, 4, 0),
        ("RMSProp", {}, 9, 1),
        ("Adam", {}, 13, 9),
        ("AdamW", {}, 14, 9),
    ],
)
def test_operations_of_a_step(name: str, options: dict[str, Any], each: int, common: int) -> None:
    one, many = operations(1, name, **options), operations(100, name, **options)
    assert len(one) == each + common, one
    assert len(many) == 100 * each + common


def test_equal_operations_of_two_groups_are_not_repeated_within_each() -> None:
    params = [nn.Parameter(vkml.full((k + 1,), 0.5)) for k in range(10)]
    optimizer = optim.Adam([{"params": params[:5]}, {"params": params[5:], "lr": 0.5}])
    for p in params:
        p.grad = vkml.ones(*p.shape)
    optimizer.step()
    calls = [call.op for step in vkml.plan(params[0]).steps for call in step.calls]
    assert calls.count("expm1") == 4  # two betas, two groups


@stateful
def test_saving_and_loading_is_one_submission(configuration: Configuration) -> None:
    net, twin = model(), model()
    optimizer, other = configuration.make(net.parameters()), configuration.make(twin.parameters())
    for _ in losses(net, optimizer, 2):
        optimizer.step()
    start = submissions()
    state = optimizer.state_dict()
    assert submissions() == start
    other.load_state_dict(state)
    assert submissions() <= start + 2  # what was pending, and the copies


def test_the_learning_rate_is_rounded_once() -> None:
    p = nn.Parameter(vkml.tensor([1.0, -3.0]))
    p.grad = vkml.tensor([0.3, 0.7])
    optim.SGD([p], lr=0.1).step()
    one = np.float32([1.0, -3.0]) - np.float32([0.3, 0.7]) * np.float32(0.1)
    assert p.numpy().tobytes() == one.tobytes()

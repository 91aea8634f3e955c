"""SGD: PyTorch's numbers, one submission and one plan a step, state, groups and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import vkml
from vkml import nn, optim
from vkml_core import runtime
from vkml_core.plugins import open_device

CONFIGURATIONS: list[dict[str, Any]] = [
    {"lr": 0.05},
    {"lr": 0.05, "momentum": 0.9},
    {"lr": 0.02, "momentum": 0.8, "weight_decay": 0.01},
    {"lr": 0.03, "momentum": 0.9, "weight_decay": 0.001, "nesterov": True},
]
STEPS = 60


def batches() -> list[tuple[np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [
        (rng.standard_normal((8, 6)).astype(np.float32), rng.integers(0, 3, 8))
        for _ in range(STEPS)
    ]


def network(lib: Any) -> Any:
    return lib.Sequential(lib.Linear(6, 5), lib.Tanh(), lib.Linear(5, 3))


def model() -> nn.Sequential:
    nn.manual_seed(1)
    return network(nn)


def submissions() -> float:
    return open_device("cpu").stats()["submissions"]


def train(net: Any, optimizer: Any, loss_fn: Callable[..., Any], tensor: Any) -> list[float]:
    losses = []
    for x, y in batches():
        optimizer.zero_grad()
        loss = loss_fn(net(tensor(x)), tensor(y))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@pytest.mark.parametrize("options", CONFIGURATIONS, ids=str)
def test_sixty_steps_agree_with_pytorch_and_with_eager_mode(options: dict[str, Any]) -> None:
    lazy, eager, theirs = model(), model(), network(torch.nn)
    theirs.load_state_dict({k: torch.from_numpy(v.numpy()) for k, v in lazy.state_dict().items()})
    expected = train(
        theirs,
        torch.optim.SGD(theirs.parameters(), **options),
        torch.nn.functional.cross_entropy,
        torch.from_numpy,
    )
    ours = optim.SGD(lazy.parameters(), **options)
    losses = train(lazy, ours, nn.functional.cross_entropy, vkml.tensor)
    np.testing.assert_allclose(losses, expected, rtol=2e-5)
    for (name, p), q in zip(lazy.named_parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.numpy(), q.detach().numpy(), 2e-5, 2e-6, err_msg=name)
    with vkml.eager_mode():
        again = optim.SGD(eager.parameters(), **options)
        assert train(eager, again, nn.functional.cross_entropy, vkml.tensor) == losses
    for p, q in zip(lazy.parameters(), eager.parameters(), strict=True):
        assert p.numpy().tobytes() == q.numpy().tobytes()


@pytest.mark.parametrize("read", [True, False], ids=["loss read", "nothing read"])
def test_a_step_is_one_submission(read: bool) -> None:
    net = model()
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    data = [(vkml.tensor(x), vkml.tensor(y)) for x, y in batches()[:5]]
    start = submissions()
    for x, y in data:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        if read:
            loss.item()
    vkml.realize(*net.parameters())
    assert submissions() - start == len(data)


def test_changing_the_learning_rate_makes_no_new_plan() -> None:
    net = model()
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=0.1)
    plans = []
    for i, (x, y) in enumerate(batches()[:6]):
        group = optimizer.param_groups[0]
        group["lr"], group["momentum"], group["weight_decay"] = 0.1 / (i + 1), 0.5 + i / 20, 0.1 * i
        group["weight_decay"] += 0.01
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(vkml.tensor(x)), vkml.tensor(y))
        loss.backward()
        optimizer.step()
        loss.item()
        plans.append(runtime.cache_info()["plans"])
    assert plans[1:] == [plans[1]] * 5  # the first step also makes the momentum buffers


def test_the_learning_rate_is_rounded_once() -> None:
    p = nn.Parameter(vkml.tensor([1.0, -3.0]))
    p.grad = vkml.tensor([0.3, 0.7])
    optim.SGD([p], lr=0.1).step()
    one = np.float32([1.0, -3.0]) - np.float32([0.3, 0.7]) * np.float32(0.1)
    assert p.numpy().tobytes() == one.tobytes()


def test_parameters_without_gradient_stay() -> None:
    p, q = nn.Parameter(vkml.ones(2)), nn.Parameter(vkml.ones(2))
    p.grad = vkml.ones(2)
    optimizer = optim.SGD([p, q], lr=0.5, momentum=0.9)
    optimizer.step()
    assert p.tolist() == [0.5, 0.5] and q.tolist() == [1.0, 1.0]
    assert list(optimizer.state) == [p] and list(optimizer.state_dict()["state"]) == [0]


def test_momentum_may_start_later() -> None:
    p = nn.Parameter(vkml.ones(1))
    optimizer = optim.SGD([p], lr=1.0)
    p.grad = vkml.ones(1)
    optimizer.step()
    optimizer.param_groups[0]["momentum"] = 0.5
    optimizer.step()
    optimizer.step()
    assert p.tolist() == [-2.5]  # 1 − 1 − 1 − 1.5


def test_a_step_that_fails_is_taken_back() -> None:
    net, twin = model(), model()
    x, y = (vkml.tensor(a) for a in batches()[0])
    for labels in ([vkml.full((8,), 3), y], [y]):  # label 3 of 3 classes is out of range
        trained = net if len(labels) == 2 else twin
        optimizer = optim.SGD(trained.parameters(), lr=0.1, momentum=0.9)
        for target in labels:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(trained(x), target)
            loss.backward()
            optimizer.step()
            if target is y:
                loss.item()
            else:
                with pytest.raises(IndexError, match="3"):
                    loss.item()
    for p, q in zip(net.parameters(), twin.parameters(), strict=True):
        assert p.numpy().tobytes() == q.numpy().tobytes()


def test_groups_have_options_of_their_own() -> None:
    p, q, r = (nn.Parameter(vkml.ones(1)) for _ in range(3))
    optimizer = optim.SGD([{"params": [p]}, {"params": q, "lr": 0.25}], lr=0.5)
    optimizer.add_param_group({"params": [r], "weight_decay": 1.0})
    for t in (p, q, r):
        t.grad = vkml.ones(1)
    optimizer.step()
    assert [t.item() for t in (p, q, r)] == [0.5, 0.75, 0.0]
    optimizer.zero_grad(set_to_none=False)
    assert [t.grad.item() for t in (p, q, r)] == [0.0, 0.0, 0.0]
    optimizer.zero_grad()
    assert p.grad is None


def test_state_dict_has_pytorchs_layout_and_resumes_exactly() -> None:
    first, second = model(), model()
    options = {"lr": 0.1, "momentum": 0.9}
    one = optim.SGD(first.parameters(), **options)
    other = optim.SGD(second.parameters(), lr=0.7)
    x, y = (vkml.tensor(a) for a in batches()[0])

    def step(net: nn.Module, optimizer: optim.SGD) -> None:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), y).backward()
        optimizer.step()

    step(first, one)
    second.load_state_dict(first.state_dict())
    state = one.state_dict()
    assert set(state) == {"state", "param_groups"} and list(state["state"]) == [0, 1, 2, 3]
    assert list(state["state"][0]) == ["momentum_buffer"]
    assert state["param_groups"][0]["params"] == [0, 1, 2, 3]
    other.load_state_dict(state)
    assert other.param_groups[0]["lr"] == 0.1
    step(first, one)
    step(second, other)
    for p, q in zip(first.parameters(), second.parameters(), strict=True):
        assert p.numpy().tobytes() == q.numpy().tobytes()


def test_pytorchs_state_loads() -> None:
    theirs = network(torch.nn)
    optimizer = torch.optim.SGD(theirs.parameters(), lr=0.125, momentum=0.5)
    theirs(torch.ones(1, 6)).sum().backward()
    optimizer.step()
    net = model()
    ours = optim.SGD(net.parameters())
    ours.load_state_dict(optimizer.state_dict())
    assert ours.param_groups[0]["lr"] == 0.125 and ours.param_groups[0]["momentum"] == 0.5
    for p, q in zip(net.parameters(), theirs.parameters(), strict=True):
        buffer = ours.state[p]["momentum_buffer"].numpy()
        np.testing.assert_array_equal(buffer, optimizer.state[q]["momentum_buffer"].numpy())


def test_a_state_that_does_not_fit_changes_nothing() -> None:
    p = nn.Parameter(vkml.ones(2))
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9)
    p.grad = vkml.ones(2)
    optimizer.step()
    good = optimizer.state_dict()
    group = good["param_groups"][0]
    for bad, message in (
        ({**good, "param_groups": [{**group, "params": [0, 1]}]}, "groups of"),
        ({**good, "param_groups": [{**group, "dampening": 0.5}]}, "no options"),
        ({**good, "param_groups": [{**group, "lr": -1.0}]}, "lr"),
        ({**good, "state": {0: {"momentum_buffer": vkml.ones(3)}}}, "momentum_buffer has shape"),
    ):
        with pytest.raises(ValueError, match=message):
            optimizer.load_state_dict(bad)
    assert optimizer.param_groups[0]["lr"] == 0.1
    assert optimizer.state[p]["momentum_buffer"].tolist() == [1.0, 1.0]


def test_bad_arguments() -> None:
    p = nn.Parameter(vkml.ones(1))
    for params, options, message in (
        ([], {}, "the parameter list is empty"),
        ([{"params": []}], {}, "the parameter list is empty"),
        ([vkml.ones(1)], {}, "does not require a gradient"),
        ([p * 2.0], {}, "not a leaf"),
        ([p, p], {}, "there twice"),
        ([{"params": [p]}, {"params": [p]}], {}, "there twice"),
        ([{"params": [p], "rate": 1.0}], {}, "no option 'rate'"),
        ([p], {"lr": -0.1}, "lr: expected a number ≥ 0"),
        ([p], {"lr": float("nan")}, "lr: expected a number ≥ 0"),
        ([p], {"momentum": -1.0}, "momentum: expected a number ≥ 0"),
        ([p], {"weight_decay": -1.0}, "weight_decay: expected a number ≥ 0"),
        ([p], {"nesterov": True}, "nesterov needs momentum"),
    ):
        with pytest.raises(ValueError, match=message):
            optim.SGD(params, **options)
    for params, options, message in (
        (p, {}, "an iterable of parameters"),
        ([3], {}, "expected a Tensor, got int"),
        ([{"lr": 1.0}], {}, "a dict with 'params'"),
        ([p], {"lr": "fast"}, "lr: expected a number"),
        ([p], {"nesterov": 1}, "nesterov: expected True or False"),
    ):
        with pytest.raises(TypeError, match=message):
            optim.SGD(params, **options)

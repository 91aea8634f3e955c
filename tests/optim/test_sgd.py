"""What only SGD has: momentum that starts or ends between steps; and small exact sums."""

from __future__ import annotations

import vkml
from vkml import nn, optim


def test_parameters_without_gradient_stay() -> None:
    p, q = nn.Parameter(vkml.ones(2)), nn.Parameter(vkml.ones(2))
    p.grad = vkml.ones(2)
    optimizer = optim.SGD([p, q], lr=0.5, momentum=0.9)
    optimizer.step()
    assert p.tolist() == [0.5, 0.5] and q.tolist() == [1.0, 1.0]
    assert list(optimizer.state) == [p] and list(optimizer.state_dict()["state"]) == [0]


def test_without_momentum_there_is_no_state() -> None:
    p = nn.Parameter(vkml.ones(1))
    optimizer = optim.SGD([p], lr=1.0)
    p.grad = vkml.ones(1)
    optimizer.step()
    assert not optimizer.state and not optimizer.state_dict()["state"]


def test_momentum_may_start_later() -> None:
    p = nn.Parameter(vkml.ones(1))
    optimizer = optim.SGD([p], lr=1.0)
    p.grad = vkml.ones(1)
    optimizer.step()
    optimizer.param_groups[0]["momentum"] = 0.5
    optimizer.step()
    optimizer.step()
    assert p.tolist() == [-2.5]  # 1 − 1 − 1 − 1.5


def test_nesterov_looks_ahead() -> None:
    p = nn.Parameter(vkml.ones(1))
    optimizer = optim.SGD([p], lr=1.0, momentum=0.5, nesterov=True)
    p.grad = vkml.ones(1)
    optimizer.step()
    optimizer.step()
    assert p.tolist() == [-2.25]  # 1 − (1 + 0.5 · 1) − (1 + 0.5 · 1.5)


def test_groups_and_gradients_that_are_forgotten() -> None:
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

"""All optimisers give PyTorch's losses, weights and state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import vkml
from tests.optim.configurations import (
    Configuration,
    arrays,
    assert_close,
    batches,
    every,
    model,
    pytorch_model,
    train,
)
from vkml import nn


@every
def test_sixty_steps_agree(configuration: Configuration) -> None:
    net = model()
    theirs = pytorch_model(net)
    ours, reference = (
        configuration.make(net.parameters()),
        configuration.make_theirs(theirs.parameters()),
    )
    losses = train(net, ours, batches(60))
    np.testing.assert_allclose(losses, train(theirs, reference, batches(60)), rtol=2e-5)
    assert_close(arrays(net, ours), arrays(theirs, reference))


@every
def test_a_parameter_without_gradient_in_some_steps(configuration: Configuration) -> None:
    net = model()
    theirs = pytorch_model(net)
    optimizers = (
        configuration.make(net.parameters()),
        configuration.make_theirs(theirs.parameters()),
    )
    for lib, optimizer in zip((net, theirs), optimizers, strict=True):
        params: list[Any] = list(lib.parameters())

        def drop(i: int, params: list[Any] = params) -> None:
            for k, p in enumerate(params):
                if (i + 1) % (k + 2) == 0:  # the first in every second step, …
                    p.grad = None

        train(lib, optimizer, batches(20), before_step=drop)
    assert_close(arrays(net, optimizers[0]), arrays(theirs, optimizers[1]))


@every
def test_groups_have_options_of_their_own(configuration: Configuration) -> None:
    net = model()
    theirs = pytorch_model(net)
    made = []
    for lib, make in ((net, configuration.make), (theirs, configuration.make_theirs)):
        p, q, r, s = lib.parameters()
        optimizer = make([{"params": [p, q]}, {"params": [r], "lr": 0.02, "weight_decay": 0.3}])
        train(lib, optimizer, batches(3))
        optimizer.add_param_group({"params": s, "weight_decay": 0.1})
        train(lib, optimizer, batches(5))
        made.append(optimizer)
    assert_close(arrays(net, made[0]), arrays(theirs, made[1]))


@every
def test_float16_parameters(configuration: Configuration) -> None:
    """State has the parameter's dtype; PyTorch rounds to it several times a step, vkml once.

    Gradients are not small: (1 − beta₂) · g · g below float16's normal range has no digits left.
    """
    rng = np.random.default_rng(3)
    start = rng.standard_normal(64).astype(np.float16)
    grads = (rng.uniform(0.5, 2, (10, 64)) * rng.choice([-1, 1], (10, 64))).astype(np.float16)
    p, q = nn.Parameter(vkml.tensor(start)), torch.nn.Parameter(torch.from_numpy(start.copy()))
    ours, theirs = configuration.make([p]), configuration.make_theirs([q])
    for g in grads:
        p.grad, q.grad = vkml.tensor(g), torch.from_numpy(g.copy())
        ours.step()
        theirs.step()
    np.testing.assert_allclose(p.numpy(), q.detach().numpy(), 4e-3, 4e-3)
    for key, value in theirs.state[q].items():
        found = ours.state[p][key].numpy()
        assert found.dtype == value.numpy().dtype, key
        np.testing.assert_allclose(found, value.numpy(), 4e-3, 4e-3, err_msg=key)


def test_small_options_count_for_float16_parameters() -> None:
    """An lr that float16 could not hold is not rounded to 0."""
    p = nn.Parameter(vkml.tensor([0.0], dtype=vkml.float16))
    p.grad = vkml.tensor([1e4], dtype=vkml.float16)
    vkml.optim.SGD([p], lr=1e-8).step()
    assert p.item() == pytest.approx(1e4 * -1e-8, rel=1e-2)


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
@pytest.mark.parametrize("betas", [(0.0, 0.999), (0.9, 0.0), (0.0, 0.0), (0.999, 0.9)])
def test_extreme_betas(name: str, betas: tuple[float, float]) -> None:
    start, grads = np.float32([1.0, -2.0]), np.float32([[0.5, 2.0], [3.0, -1e-3], [1e-6, 4.0]])
    p, q = nn.Parameter(vkml.tensor(start)), torch.nn.Parameter(torch.from_numpy(start.copy()))
    ours = getattr(vkml.optim, name)([p], betas=betas)
    theirs = getattr(torch.optim, name)([q], betas=betas, foreach=False)
    for g in grads:
        p.grad, q.grad = vkml.tensor(g), torch.from_numpy(g)
        ours.step()
        theirs.step()
    np.testing.assert_allclose(p.numpy(), q.detach().numpy(), 1e-6)


@every
def test_a_closure_is_called_with_gradients_on(configuration: Configuration) -> None:
    net, twin = model(), model()
    x, y = (vkml.tensor(a) for a in batches(1)[0])
    optimizer, other = configuration.make(net.parameters()), configuration.make(twin.parameters())

    def closure() -> vkml.Tensor:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        return loss

    with vkml.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == train(twin, other, batches(1))[0]
    assert {k: v.tobytes() for k, v in arrays(net, optimizer).items()} == {
        k: v.tobytes() for k, v in arrays(twin, other).items()
    }

"""A step that fails is taken back as a whole: weights, state and count."""

from __future__ import annotations

import numpy as np
import pytest

import vkml
from tests.everywhere import devices
from tests.optim.configurations import Configuration, batches, bits, every, model, train
from vkml import nn, optim

X, Y = batches(1)[0]
BAD_Y = np.full(8, 3)  # label 3 of 3 classes is out of range


def fail(net: nn.Module, optimizer: optim.Optimizer, device: str = "cpu") -> None:
    optimizer.zero_grad()
    target = vkml.tensor(BAD_Y, device=device)
    loss = nn.functional.cross_entropy(net(vkml.tensor(X, device=device)), target)
    loss.backward()
    optim.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
    with pytest.raises(IndexError, match="3"):
        loss.item()


@every
@pytest.mark.parametrize("good_steps", [0, 2])
def test_a_failed_step_is_taken_back(configuration: Configuration, good_steps: int) -> None:
    for device in devices():
        net, twin = model(device), model(device)
        optimizer = configuration.make(net.parameters())
        other = configuration.make(twin.parameters())
        for lib, each in ((net, optimizer), (twin, other)):
            train(lib, each, batches(good_steps), device)
        fail(net, optimizer, device)
        if good_steps:
            assert bits(net, optimizer) == bits(twin, other)
        for lib, each in ((net, optimizer), (twin, other)):
            train(lib, each, batches(5)[good_steps:], device)
        assert bits(net, optimizer) == bits(twin, other)


@every
def test_a_failed_step_of_some_sharers_of_a_count(configuration: Configuration) -> None:
    net, twin = model(), model()
    optimizer, other = configuration.make(net.parameters()), configuration.make(twin.parameters())
    train(net, optimizer, batches(2))
    train(twin, other, batches(2))
    loss = nn.functional.cross_entropy(net(vkml.tensor(X)), vkml.tensor(BAD_Y))
    loss.backward()
    next(iter(net.parameters())).grad = None
    optimizer.step()
    with pytest.raises(IndexError):
        loss.item()
    assert bits(net, optimizer) == bits(twin, other)
    train(net, optimizer, batches(4))
    train(twin, other, batches(4))
    assert bits(net, optimizer) == bits(twin, other)


@every
def test_a_failure_that_the_next_step_meets(configuration: Configuration) -> None:
    """Nothing was read: the second step finds out, and neither has happened."""
    net, twin = model(), model()
    optimizer, other = configuration.make(net.parameters()), configuration.make(twin.parameters())
    train(net, optimizer, batches(1))
    train(twin, other, batches(1))
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(vkml.tensor(X)), vkml.tensor(BAD_Y)).backward()
    optimizer.step()
    optimizer.zero_grad()
    for p in net.parameters():
        p.grad = vkml.ones(*p.shape)
    with pytest.raises(IndexError):
        optimizer.step()
    assert bits(net, optimizer) == bits(twin, other)


@every
def test_an_update_that_cannot_be_recorded_keeps_no_state(configuration: Configuration) -> None:
    p, q = nn.Parameter(vkml.ones(2)), nn.Parameter(vkml.ones(2))
    optimizer = configuration.make([{"params": [p]}, {"params": [q]}])
    for t in (p, q):
        t.grad = vkml.ones(2)
    optimizer.param_groups[1]["lr"] = "fast"
    with pytest.raises((TypeError, ValueError)):
        optimizer.step()
    assert p.tolist() == q.tolist() == [1.0, 1.0] and not optimizer.state

"""Parameters and state are overwritten in place where nobody else holds them, compiled or not."""

from __future__ import annotations

import gc
import logging
from typing import Any

import numpy as np
import pytest

import vkml
from tests.compile.programs import Run, batches, submissions
from tests.everywhere import devices
from vkml import nn, optim
from vkml_core import runtime
from vkml_core.plan import SlotKind


def buffers(run: Run) -> list[Any]:
    """The buffers of parameters and state; a tensor's storage is read past its handle."""
    tensors = [*run.model.parameters(), *run.model.buffers()]
    tensors += [t for kept in run.optimizer.state.values() for t in kept.values()]
    return [t.node.storage.buffer for t in tensors if t.node.storage is not None]


@pytest.mark.parametrize("mode", ["lazy", "compiled"])
@pytest.mark.parametrize("optimiser", ["momentum", "AdamW"])
@pytest.mark.parametrize("model", ["perceptron", "convolutions", "transformer"])
def test_buffers_stay_the_same(mode: str, optimiser: str, model: str) -> None:
    for device in devices():
        run = Run(model, optimiser, mode, device)
        data = list(batches(model, 3))
        run.train(data)
        before = buffers(run)
        run.train(data[:2])
        after = buffers(run)
        assert len(before) == len(after)
        assert all(a is b for a, b in zip(before, after, strict=True)), (device, mode)


@pytest.mark.parametrize("mode", ["lazy", "compiled"])
def test_memory_of_a_loop_stays_flat(mode: str) -> None:
    for device in devices():
        run = Run("convolutions", "AdamW", mode, device)
        data = next(batches("convolutions", 1))
        used = []
        for i in range(60):
            run.train([data])
            if i in (10, 59):
                gc.collect()
                vkml.device(device).synchronize()
                stats = vkml.device(device).stats()
                used.append((stats["in_use_bytes"], stats["live_allocations"]))
        assert used[0] == used[1]


def test_a_replay_allocates_its_results_only() -> None:
    device = devices()[1]  # on the CPU every step of a plan makes an array
    vkml.manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
    model.to(device)
    optimizer = optim.AdamW(model.parameters())

    @vkml.compile
    def step(x: vkml.Tensor) -> vkml.Tensor:
        optimizer.zero_grad()
        loss = (model(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    x = vkml.ones(8, 6, device=device).realize()
    kept = [step(x) for _ in range(8)]
    before = vkml.device(device).stats()["total_allocations"]
    kept.append(step(x))  # the loss, and perhaps what a new recording takes
    assert vkml.device(device).stats()["total_allocations"] - before <= 2
    assert kept[-1].item() < kept[0].item()


def state_slots() -> int:
    slots = runtime.cached_plans()[-1].slots
    return sum(s.kind is SlotKind.STATE for s in slots)


class Lazy:
    """A lazy step of one weight, and what may hold its value."""

    def __init__(self) -> None:
        self.w = vkml.tensor([1.0, 2.0], requires_grad=True)

    def step(self) -> vkml.Tensor:
        loss = (self.w * self.w).sum()
        self.w.grad = None
        loss.backward()
        with vkml.no_grad():
            self.w.assign_(self.w - 0.25 * self.w.grad)
        return loss


def test_a_lazy_step_overwrites() -> None:
    lazy = Lazy()
    for i in range(3):
        assert lazy.step().item() == 5.0 / 4**i
        assert state_slots() == 1
        grad = lazy.w.grad
        assert grad is not None and grad.tolist() == [2.0 / 2**i, 4.0 / 2**i]


@pytest.mark.parametrize(
    "hold",
    [
        lambda w: w.detach(),
        lambda w: w.detach().realize(),
        lambda w: w * 3.0,
        lambda w: w.reshape(2, 1),
        lambda w: vkml.Tensor(w.node),
        lambda w: w.node,
        lambda w: w.node.storage,
    ],
)
def test_a_lazy_step_leaves_what_others_hold(hold: Any) -> None:
    lazy = Lazy()
    lazy.step().item()
    value = lazy.w.tolist()
    held = hold(lazy.w)
    wanted = hold(vkml.tensor(value))
    lazy.step().item()
    assert state_slots() == 0
    if isinstance(held, vkml.Tensor):
        assert held.tolist() == wanted.tolist()
    lazy.step().item()
    assert state_slots() == 1


def test_a_history_that_may_be_walked_again_is_left_alone() -> None:
    w = vkml.tensor([1.0, 2.0], requires_grad=True)
    y = (w * w).sum()
    with vkml.no_grad():
        w.assign_(w * 2.0)
    assert w.tolist() == [2.0, 4.0]
    y.backward()
    assert w.grad is None or w.grad.tolist() == [2.0, 4.0]
    assert y.item() == 5.0


def test_swaps_are_not_done_in_place_by_mistake() -> None:
    a, b = vkml.tensor([1.0]), vkml.tensor([2.0])
    for i in range(4):
        vkml.assign([a, b], [b * 2, a + 1])
        vkml.realize(a, b)
        wanted = [(4.0, 2.0), (4.0, 5.0), (10.0, 5.0), (10.0, 11.0)][i]
        assert (a.item(), b.item()) == wanted


def test_eager_assignments_copy_nothing() -> None:
    with vkml.eager_mode():
        x = vkml.tensor([1.0])
        y = x + 1
        x.assign_(y)
        y.assign_(5.0)
        assert (x.item(), y.item()) == (2.0, 5.0)


# The cache of a compiled function.
def test_the_cache_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    double = vkml.compile(lambda x: x * 2, maxsize=3)
    with caplog.at_level(logging.INFO, "vkml"):
        for n in (1, 2, 3, 2, 1, 3):
            assert double(vkml.ones(n)).tolist() == [2.0] * n
        told = [r for r in caplog.records if r.name == "vkml"]
        assert [r.levelname for r in told] == ["INFO"] and "traced anew" in told[0].message
        assert tuple(double.cache_info()) == (3, 3, 3, 3)
        double(vkml.ones(4))  # the one for 2 was used least recently
        double(vkml.ones(1))
        double(vkml.ones(3))
        assert tuple(double.cache_info()) == (5, 4, 3, 3)
        double(vkml.ones(2))
        double(vkml.ones(5))
    told = [r for r in caplog.records if r.name == "vkml"]
    assert [r.levelname for r in told] == ["INFO", "WARNING", "WARNING", "WARNING"]
    assert "maxsize" in told[1].message
    double.clear()
    assert double.cache_info().currsize == 0
    assert double(vkml.ones(2)).tolist() == [2.0, 2.0]


def test_a_function_of_one_kind_of_arguments_says_nothing(caplog: Any) -> None:
    with caplog.at_level(logging.INFO, "vkml"):
        double = vkml.compile(lambda x: x * 2)
        for _ in range(5):
            double(vkml.ones(2))
    assert not [r for r in caplog.records if r.name == "vkml"]


def test_it_looks_like_the_function() -> None:
    def step(x: vkml.Tensor) -> vkml.Tensor:
        """Double."""
        return x * 2

    compiled = vkml.compile(step)
    assert compiled.__name__ == "step" and compiled.__doc__ == "Double."
    assert compiled.__wrapped__ is step  # type: ignore[attr-defined]


def test_traces_hold_no_batches_and_no_old_parameters() -> None:
    gc.collect()
    model = nn.Linear(64, 64)
    infer = vkml.compile(lambda x: model(x).sum())
    infer(vkml.ones(2, 64)).item()
    gc.collect()
    before = vkml.device("cpu").stats()["in_use_bytes"]
    for n in (1000, 2000):
        infer(vkml.tensor(np.ones((n, 64), np.float32))).item()
    gc.collect()
    assert vkml.device("cpu").stats()["in_use_bytes"] == before
    with vkml.no_grad():
        for p in model.parameters():
            p.assign_(p.detach() * 2).realize()
    infer(vkml.ones(2, 64)).item()
    gc.collect()
    assert vkml.device("cpu").stats()["in_use_bytes"] == before


def test_a_replay_costs_one_submission_after_a_copy() -> None:
    p = nn.Parameter(vkml.ones(3))
    optimizer = optim.SGD([p], lr=0.5)

    @vkml.compile
    def step() -> vkml.Tensor:
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        optimizer.step()
        return loss

    step()
    held = p.detach()
    start = submissions("cpu")
    step()
    assert submissions("cpu") - start == 2
    step()
    assert submissions("cpu") - start == 3
    assert held.tolist() == [0.0] * 3 and p.tolist() == [0.0] * 3

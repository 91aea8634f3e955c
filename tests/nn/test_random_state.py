"""The state of everything random: read, saved as JSON, restored, continued with the same bits."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

import numpy as np
import pytest

import vkml
from tests.everywhere import same_everywhere
from vkml import nn, optim
from vkml_core.functional.random import next_seed


def make(device: str = "cpu") -> nn.Sequential:
    """A net with seeded Dropout at two depths, and an unseeded one."""
    inner = nn.Sequential(nn.Linear(6, 6), nn.Dropout(0.4, seed=5))
    return nn.Sequential(nn.Linear(4, 6), nn.Dropout(0.3, seed=3), inner, nn.Dropout(0.2)).to(
        device
    )


def train(model: nn.Module, steps: int, device: str = "cpu") -> None:
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        x = vkml.randn(5, 4, device=device)  # data order is random state too
        (model(x) ** 2.0).mean().backward()
        optimizer.step()


def bits(model: nn.Module) -> dict[str, np.ndarray]:
    return {name: t.numpy() for name, t in model.state_dict().items()}


def interrupted(device: str, cut: int) -> dict[str, np.ndarray]:
    """Train 6 steps, after `cut` of them in new objects from what was saved as JSON."""
    vkml.manual_seed(11)
    first = make(device)
    train(first, cut, device)
    saved = json.dumps({"vkml": vkml.get_rng_state(), "model": first.random_state()})
    weights = bits(first)
    vkml.manual_seed(999)
    second = make(device)
    train(second, 2, device)
    state = json.loads(saved)
    second.load_state_dict(weights)
    second.load_random_state(state["model"])
    vkml.set_rng_state(state["vkml"])
    train(second, 6 - cut, device)
    return bits(second)


@pytest.mark.parametrize("cut", [1, 4])
def test_interrupted_training_goes_on_with_the_same_bits(cut: int) -> None:
    vkml.manual_seed(11)
    whole = make()
    train(whole, 6)
    found = interrupted("cpu", cut)
    for name, value in bits(whole).items():
        assert found[name].tobytes() == value.tobytes(), name


@pytest.mark.parametrize("forgotten", ["vkml", "model"])
def test_without_either_state_the_masks_differ(forgotten: str) -> None:
    def run(restore: bool) -> bytes:
        vkml.manual_seed(11)
        first, x = make(), vkml.ones(5, 4)
        train(first, 3)
        states = vkml.get_rng_state(), first.random_state()
        second = make()
        second.load_state_dict(first.state_dict())
        second.load_random_state(states[1] if restore or forgotten == "vkml" else make_state())
        vkml.manual_seed(12)
        if restore or forgotten == "model":
            vkml.set_rng_state(states[0])
        y: np.ndarray = second(x).numpy()
        return y.tobytes()

    def make_state() -> dict[str, int]:
        return make().random_state()

    assert run(True) == run(True) and run(True) != run(False)


def test_interrupted_training_is_the_same_everywhere() -> None:
    same_everywhere(lambda device: interrupted(device, 3))


def test_the_state_is_plain_and_counts_unseeded_calls() -> None:
    vkml.manual_seed(7)
    assert vkml.get_rng_state() == {"seed": 7, "calls": 0}
    vkml.rand(3)
    vkml.randn(2)
    vkml.rand(3, seed=1)
    state = vkml.get_rng_state()
    assert state == {"seed": 7, "calls": 2} and vkml.get_rng_state() == state
    assert all(type(v) is int for v in state.values())
    after = vkml.rand(100).numpy()
    vkml.set_rng_state(state)
    np.testing.assert_array_equal(vkml.rand(100).numpy(), after)
    vkml.set_rng_state({"seed": np.int64(2**63 - 1), "calls": 2**62 - 1})  # type: ignore[dict-item]
    assert vkml.get_rng_state() == {"seed": 2**63 - 1, "calls": 2**62 - 1}
    assert np.isfinite(vkml.rand(3).numpy()).all()


@pytest.mark.parametrize(
    ("state", "error", "message"),
    [
        (7, TypeError, "set_rng_state: expected a dict"),
        ([("seed", 1)], TypeError, "expected a dict"),
        ({}, ValueError, "expected 'seed' and 'calls', got nothing"),
        ({"seed": 1}, ValueError, "got 'seed'"),
        ({"seed": 1, "calls": 2, "more": 3}, ValueError, "'more'"),
        ({"seed": 1, "calls": 2.0}, TypeError, "calls: expected an int"),
        ({"seed": "1", "calls": 2}, TypeError, "seed: expected an int"),
        ({"seed": -1, "calls": 2}, ValueError, r"seed must be from 0 to 2\^63 − 1, got -1"),
        ({"seed": 2**63, "calls": 2}, ValueError, "seed must be"),
        ({"seed": 1, "calls": 2**62}, ValueError, r"calls must be from 0 to 2\^62 − 1"),
        ({"seed": 1, "calls": -1}, ValueError, "calls must be"),
    ],
)
def test_a_wrong_state_is_refused_and_changes_nothing(
    state: Any, error: type[Exception], message: str
) -> None:
    vkml.manual_seed(3)
    vkml.rand(1)
    with pytest.raises(error, match=message):
        vkml.set_rng_state(state)
    assert vkml.get_rng_state() == {"seed": 3, "calls": 1}


def test_modules_give_their_counters_by_name() -> None:
    model = make()
    assert model.random_state() == {"1": 0, "2.1": 0}
    model(vkml.ones(1, 4))
    model(vkml.ones(1, 4))
    assert model.random_state() == {"1": 2, "2.1": 2}
    model.eval()(vkml.ones(1, 4))
    assert model.random_state() == {"1": 2, "2.1": 2}
    assert nn.Dropout(0.5, seed=1).random_state() == {"": 0}
    assert nn.Sequential(nn.Linear(2, 2), nn.Dropout()).random_state() == {}
    shared = nn.Dropout(0.5, seed=1)
    assert nn.Sequential(shared, shared).random_state() == {"0": 0}


def test_module_state_is_checked_before_anything_changes() -> None:
    model = make()
    model(vkml.ones(1, 4))
    for wrong, error, message in (
        ({"1": 5, "3": 1}, ValueError, "missing names: '2.1'; unexpected names: '3'"),
        ({"1": 5}, ValueError, "does not fit Sequential: missing names: '2.1'"),
        ({"1": 5, "2.1": -1}, ValueError, r"'2\.1' must be from 0"),
        ({"1": 5, "2.1": 2**62}, ValueError, r"'2\.1' must be from 0"),
        ({"1": 5, "2.1": 1.5}, TypeError, r"'2\.1': expected an int"),
        ([("1", 5)], TypeError, "load_random_state: expected a dict, got list"),
    ):
        with pytest.raises(error, match=message):
            model.load_random_state(wrong)  # type: ignore[arg-type]
        assert model.random_state() == {"1": 1, "2.1": 1}
    model.load_random_state({"2.1": 9, "1": 8})
    assert model.random_state() == {"1": 8, "2.1": 9}


def test_no_call_is_lost_among_threads() -> None:
    vkml.manual_seed(0)
    found: list[tuple[int, int]] = []
    threads = [
        threading.Thread(target=lambda: found.extend([next_seed() for _ in range(3000)]))
        for _ in range(8)
    ]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert vkml.get_rng_state()["calls"] == len(found) == len(set(found)) == 24000

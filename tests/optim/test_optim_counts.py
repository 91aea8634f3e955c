"""The count of steps: shared, copied when a sharer stands still, exact in its corrections."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vkml
from tests.everywhere import devices
from vkml import nn, optim
from vkml_optim.adam import correction

MAKERS = pytest.mark.parametrize("make", [optim.Adam, optim.AdamW, optim.RMSProp])


def params(n: int) -> list[nn.Parameter]:
    return [nn.Parameter(vkml.full((k + 1,), 1.0)) for k in range(n)]


def step(optimizer: optim.Optimizer, *which: nn.Parameter) -> None:
    optimizer.zero_grad()
    for p in which:
        p.grad = vkml.ones(*p.shape)
    optimizer.step()


def counts(optimizer: optim.Optimizer) -> list[float]:
    return [state["step"].item() for state in optimizer.state.values()]


def tensors(optimizer: optim.Optimizer) -> int:
    return len({id(state["step"]) for state in optimizer.state.values()})


@MAKERS
def test_parameters_that_step_together_share_a_count(make: type[optim.Optimizer]) -> None:
    p, q, r = params(3)
    optimizer = make([{"params": [p, q]}, {"params": [r], "lr": 0.1}])
    step(optimizer, p, q, r)
    shared = optimizer.state[p]["step"]
    assert (shared.shape, shared.dtype) == ((), vkml.float32)
    step(optimizer, p, q, r)
    assert tensors(optimizer) == 1 and counts(optimizer) == [2.0] * 3
    assert optimizer.state[p]["step"] is shared


@MAKERS
def test_some_of_the_sharers_get_a_count_of_their_own(make: type[optim.Optimizer]) -> None:
    p, q, r = params(3)
    optimizer = make([p, q, r])
    step(optimizer, p, q, r)
    step(optimizer, p, q)
    assert counts(optimizer) == [2.0, 2.0, 1.0] and tensors(optimizer) == 2
    assert optimizer.state[p]["step"] is optimizer.state[q]["step"]
    step(optimizer, r)
    step(optimizer, p, q, r)
    assert counts(optimizer) == [3.0, 3.0, 3.0] and tensors(optimizer) == 2
    optimizer.load_state_dict(optimizer.state_dict())
    assert counts(optimizer) == [3.0, 3.0, 3.0] and tensors(optimizer) == 1


@MAKERS
@given(st.lists(st.sets(st.integers(0, 3)), min_size=1, max_size=8))
def test_any_pattern_of_gradients_counts_right(
    make: type[optim.Optimizer], pattern: list[set[int]]
) -> None:
    all_of_them = params(4)
    optimizer = make(all_of_them)
    for which in pattern:
        step(optimizer, *(all_of_them[i] for i in which))
    for i, p in enumerate(all_of_them):
        wanted = sum(i in which for which in pattern)
        state = optimizer.state.get(p)
        assert (state["step"].item() if state else 0) == wanted


@MAKERS
def test_a_later_parameter_starts_at_one(make: type[optim.Optimizer]) -> None:
    p, q = params(2)
    optimizer = make([p])
    step(optimizer, p)
    optimizer.add_param_group({"params": [q]})
    step(optimizer, p, q)
    assert counts(optimizer) == [2.0, 1.0]


@MAKERS
def test_a_step_without_gradients_changes_nothing(make: type[optim.Optimizer]) -> None:
    (p,) = params(1)
    optimizer = make([p])
    step(optimizer)
    assert not optimizer.state and p.tolist() == [1.0]
    step(optimizer, p)
    step(optimizer)
    assert counts(optimizer) == [1.0]


@pytest.mark.parametrize("beta", [0.0, 1e-30, 0.3, 0.5, 0.9, 0.999, 0.9999, 1 - 2**-24, 1 - 2**-53])
def test_corrections_are_exact_to_two_units_in_the_last_place(beta: float) -> None:
    steps = [1, 2, 3, 7, 10, 31, 100, 999, 1000, 12345, 10**6, 2**24]
    found = correction(beta, vkml.tensor(steps, dtype=vkml.float32)).numpy()
    for t, value in zip(steps, found, strict=True):
        exact = -math.expm1(t * math.log(beta)) if beta else 1.0
        assert abs(float(value) - exact) <= 2 * float(np.spacing(np.float32(exact)))


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 2**24))
def test_random_corrections(beta: float, t: int) -> None:
    exact = -math.expm1(t * math.log(beta)) if beta else 1.0
    value = correction(beta, vkml.tensor(float(t))).item()
    assert abs(value - exact) <= 2 * float(np.spacing(np.float32(exact)))


def test_devices_have_counts_of_their_own() -> None:
    p, q = (nn.Parameter(vkml.ones(2, device=name)) for name in devices())
    optimizer = optim.Adam([p, q])
    for t in (p, q):
        t.grad = vkml.ones(2, device=t.device)
    optimizer.step()
    assert tensors(optimizer) == 2 and p.tolist() == q.tolist()
    assert [s["step"].device for s in optimizer.state.values()] == [p.device, q.device]

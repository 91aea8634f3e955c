"""Rules are pure functions: the same inputs give the same values, and nothing given is changed."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import vkml
from tests.optim.configurations import Configuration, every
from vkml import nn, optim
from vkml_optim.checks import non_negative
from vkml_optim.options import Option
from vkml_optim.rule import Options, Rule, Shared, State, lerp


@every
def test_an_optimiser_does_what_its_rule_says(configuration: Configuration) -> None:
    rng = np.random.default_rng(0)
    start, *grads = (rng.standard_normal(8).astype(np.float32) for _ in range(4))
    p = nn.Parameter(vkml.tensor(start))
    optimizer = configuration.make([p])
    rule, options = optimizer.rule, dict(optimizer.param_groups[0])
    value, state = vkml.tensor(start), None
    for g in grads:
        p.grad = vkml.tensor(g)
        optimizer.step()
        state = state or rule.init(value, options)
        before = {k: t.tolist() for k, t in state.items()}
        sign = -1.0 if options["maximize"] else 1.0
        given = vkml.tensor(g * np.float32(sign)), state, value, options
        value, changed = rule.update(*given)
        again, _ = rule.update(*given)
        assert value.tolist() == again.tolist() and options == optimizer.param_groups[0]
        assert {k: t.tolist() for k, t in state.items()} == before
        counted = {"step": state["step"] + 1.0} if "step" in state else {}
        state = {**state, **changed, **counted}
    assert p.numpy().tobytes() == value.numpy().tobytes()
    kept = optimizer.state.get(p, {})
    assert {k: t.tolist() for k, t in kept.items()} == {k: t.tolist() for k, t in state.items()}


class SignRule(Rule):
    """p − lr · sign(b), b = b + g."""

    state: ClassVar[Any] = {"sum": lambda options: True}

    def update(
        self,
        grad: vkml.Tensor,
        state: State,
        param: vkml.Tensor,
        options: Options,
        shared: Shared = (),
    ) -> tuple[vkml.Tensor, State]:
        total = state["sum"] + grad
        return param - total.sign() * options["lr"], {"sum": total}


class Sign(optim.Optimizer):
    rule = SignRule()
    options: ClassVar[Any] = {"lr": Option(non_negative)}


def test_an_optimiser_of_ones_own_needs_a_rule_and_a_table_of_options() -> None:
    p, q = nn.Parameter(vkml.zeros(2)), nn.Parameter(vkml.zeros(2))
    one, other = Sign([p], {"lr": 0.5}), Sign([q], {"lr": 0.25})
    for g in ([3.0, -1.0], [-1.0, 3.0]):
        p.grad = vkml.tensor(g)
        one.step()
    assert p.tolist() == [-1.0, 0.0]
    other.load_state_dict(one.state_dict())
    q.grad = vkml.tensor([0.0, 0.0])
    other.step()
    assert q.tolist() == [-0.5, -0.5]


@pytest.mark.parametrize("weight", [0.0, 0.25, 0.5, 0.75, 1.0])
def test_lerp_reaches_both_ends(weight: float) -> None:
    start, end = np.float32([1e8, 3.0]), np.float32([1.0, -5.0])
    found = lerp(vkml.tensor(start), vkml.tensor(end), weight).numpy()
    if weight in (0.0, 1.0):
        assert found.tolist() == (end if weight else start).tolist()
    wanted = start.astype(float) + (end.astype(float) - start.astype(float)) * weight
    np.testing.assert_allclose(found, wanted, rtol=1e-6)

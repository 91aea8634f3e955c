"""A state, an option or a parameter that does not fit gives one clear error and changes nothing."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

import vkml
from tests.optim.configurations import (
    Configuration,
    batches,
    bits,
    every,
    model,
    pytorch_model,
    train,
)
from vkml import nn, optim


def damaged(good: dict[str, Any], path: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Copy a state with one place changed; DELETE takes the place away."""
    bad = copy.copy(good)
    place = bad
    for key in path[:-1]:
        place[key] = copy.copy(place[key])
        place = place[key]
    if value is DELETE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return bad


DELETE = object()
FIRST, STATE = ("param_groups", 0), ("state", 0)
BAD = [
    (("state",), DELETE, TypeError, "'state': expected a Mapping, got NoneType"),
    (("state",), [1], TypeError, "'state': expected a Mapping, got list"),
    (("param_groups",), DELETE, TypeError, "'param_groups': expected a Sequence"),
    (("param_groups",), [], ValueError, r"groups of \[\] parameters"),
    (("param_groups",), [3], TypeError, r"param_groups\[0\]: expected a dict with 'params'"),
    ((*FIRST, "params"), DELETE, TypeError, "a list of ints"),
    ((*FIRST, "params"), ["a", "b", "c", "d"], TypeError, "a list of ints"),
    ((*FIRST, "params"), [0, 1], ValueError, r"groups of \[2\] parameters, expected \[4\]"),
    ((*FIRST, "params"), [0, 1, 1, 2], ValueError, "no group has parameter 3|numbers repeat"),
    ((*FIRST, "lr"), DELETE, ValueError, "lacks the option 'lr'"),
    ((*FIRST, "lr"), -1.0, ValueError, "lr: expected a number ≥ 0, got -1.0"),
    ((*FIRST, "lr"), float("nan"), ValueError, "lr: expected a number ≥ 0"),
    ((*FIRST, "lr"), "fast", TypeError, "lr: expected a number, got str"),
    ((*FIRST, "lr"), torch.tensor(0.5), TypeError, "lr: expected a number, got Tensor"),
    ((*FIRST, "betas"), 0.9, TypeError, "betas: expected two numbers"),
    ((*FIRST, "betas"), (0.9, 1.0), ValueError, r"betas\[1\]: expected 0 ≤ number < 1"),
    ((*FIRST, "betas"), (0.9, "x"), TypeError, r"betas\[1\]: expected a number"),
    ((*FIRST, "initial_lr"), -1.0, ValueError, "initial_lr: expected a number ≥ 0"),
    ((*FIRST, "amsgrad"), True, ValueError, "amsgrad: not in vkml: expected False, got True"),
    ((*FIRST, "foreach"), True, ValueError, "foreach: not in vkml: expected None"),
    ((*FIRST, "fused"), True, ValueError, "fused: not in vkml"),
    ((*FIRST, "maximize"), 1, TypeError, "maximize: expected True or False"),
    ((*FIRST, "nonsense"), 0, ValueError, "has no option 'nonsense'"),
    ((*STATE, "exp_avg"), DELETE, ValueError, r"state\[0\]: lacks 'exp_avg', which Adam needs"),
    ((*STATE, "step"), DELETE, ValueError, "lacks 'step'"),
    ((*STATE, "max_exp_avg_sq"), np.ones(2), ValueError, "has no state 'max_exp_avg_sq'"),
    ((*STATE, "exp_avg"), np.ones(3), ValueError, r"exp_avg has shape \(3,\), expected \(5, 6\)"),
    ((*STATE, "exp_avg"), vkml.ones(6, 5), ValueError, r"exp_avg has shape \(6, 5\)"),
    ((*STATE, "exp_avg"), "words", TypeError, "exp_avg: expected numbers"),
    ((*STATE, "exp_avg"), [[1.0], [1.0, 2.0]], TypeError, "exp_avg: not an array"),
    ((*STATE, "exp_avg"), np.ones((5, 6), complex), TypeError, "expected numbers, got complex128"),
    ((*STATE, "exp_avg"), vkml.ones(5, 6) > 0, TypeError, "expected numbers, got .*bool"),
    ((*STATE, "step"), [1.0], ValueError, r"step has shape \(1,\), expected \(\)"),
    ((*STATE, "step"), -1.0, ValueError, "step: expected a whole number ≥ 0, got -1.0"),
    ((*STATE, "step"), 1.5, ValueError, "step: expected a whole number"),
    ((*STATE, "step"), float("nan"), ValueError, "step: expected a whole number"),
    ((*STATE, "step"), float("inf"), ValueError, "step: expected a whole number"),
    (("state", 0), 5, TypeError, r"state\[0\]: expected a dict, got int"),
    (("state", 9), {}, ValueError, "no group has parameter 9"),
    (("state", "0"), {}, ValueError, "no group has parameter '0'"),
]


@pytest.mark.parametrize(("path", "value", "kind", "message"), BAD)
@pytest.mark.parametrize("source", ["vkml", "torch"])
def test_a_state_that_does_not_fit_changes_nothing(
    source: str, path: tuple[Any, ...], value: Any, kind: type[Exception], message: str
) -> None:
    net = model()
    optimizer = optim.Adam(net.parameters(), lr=0.01)
    train(net, optimizer, batches(1))
    good = optimizer.state_dict()
    if source == "torch":
        theirs = pytorch_model(net)
        other = torch.optim.Adam(theirs.parameters())
        train(theirs, other, batches(1))
        good = other.state_dict()
    before, groups = bits(net, optimizer), optimizer.state_dict()["param_groups"]
    with pytest.raises(kind, match=message) as caught:
        optimizer.load_state_dict(damaged(good, path, value))
    assert isinstance(caught.value, vkml.Error)
    assert bits(net, optimizer) == before
    assert optimizer.state_dict()["param_groups"] == groups
    optimizer.load_state_dict(good)


@pytest.mark.parametrize("bad", [None, 3, [], "state"])
def test_a_state_that_is_no_dict(bad: Any) -> None:
    with pytest.raises(TypeError, match="load_state_dict: expected a dict"):
        optim.SGD(model().parameters()).load_state_dict(bad)


def test_states_of_other_optimisers_are_refused() -> None:
    net = model()
    for name, other, message in (
        ("SGD", "Adam", "has no option 'betas'"),
        ("Adam", "RMSProp", "has no option 'momentum'"),
        ("AdamW", "Adam", "decoupled_weight_decay: not in vkml: expected True, got False"),
    ):
        state = getattr(optim, other)(net.parameters()).state_dict()
        with pytest.raises(ValueError, match=message):
            getattr(optim, name)(net.parameters()).load_state_dict(state)


def test_nesterov_without_momentum_is_refused_when_loaded() -> None:
    net = model()
    optimizer = optim.SGD(net.parameters())
    state = damaged(optimizer.state_dict(), (*FIRST, "nesterov"), True)
    with pytest.raises(ValueError, match="nesterov needs momentum > 0"):
        optimizer.load_state_dict(state)


def test_amsgrad_from_pytorch_is_refused() -> None:
    net = model()
    theirs = pytorch_model(net)
    other = torch.optim.Adam(theirs.parameters(), amsgrad=True)
    train(theirs, other, batches(1))
    with pytest.raises(ValueError, match="amsgrad: not in vkml: expected False, got True"):
        optim.Adam(net.parameters()).load_state_dict(other.state_dict())


P = nn.Parameter(vkml.ones(1))


@pytest.mark.parametrize("name", ["SGD", "RMSProp", "Adam", "AdamW"])
@pytest.mark.parametrize(
    ("params", "kind", "message"),
    [
        ([], ValueError, "the parameter list is empty"),
        ((p for p in ()), ValueError, "the parameter list is empty"),
        ([{"params": []}], ValueError, "the parameter list is empty"),
        ([vkml.ones(1)], ValueError, "does not require a gradient"),
        ([P * 2.0], ValueError, "not a leaf"),
        ([P, P], ValueError, "there twice"),
        ([{"params": [P]}, {"params": [P]}], ValueError, "there twice"),
        ([{"params": [P], "rate": 1.0}], ValueError, "no option 'rate'"),
        ([{"params": [P], "lr": -1.0}], ValueError, "lr: expected a number ≥ 0"),
        (P, TypeError, "an iterable of parameters"),
        (3, TypeError, "an iterable of parameters, got int"),
        ({P}, TypeError, "no fixed order"),
        ([3], TypeError, "expected a Tensor, got int"),
        ([P, {"params": [P]}], TypeError, "expected a Tensor, got dict"),
        ([{"params": [P]}, P], TypeError, "a dict with 'params'"),
        ([{"lr": 1.0}], TypeError, "a dict with 'params'"),
    ],
)
def test_bad_parameters(name: str, params: Any, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{name}: .*{message}"):
        getattr(optim, name)(params)


@pytest.mark.parametrize(
    ("name", "options", "kind", "message"),
    [
        ("SGD", {"lr": -0.1}, ValueError, "lr: expected a number ≥ 0, got -0.1"),
        ("SGD", {"lr": float("nan")}, ValueError, "lr: expected a number ≥ 0"),
        ("SGD", {"lr": "fast"}, TypeError, "lr: expected a number"),
        ("SGD", {"momentum": -1.0}, ValueError, "momentum: expected a number ≥ 0"),
        ("SGD", {"weight_decay": -1.0}, ValueError, "weight_decay: expected a number ≥ 0"),
        ("SGD", {"nesterov": True}, ValueError, "nesterov needs momentum"),
        ("SGD", {"nesterov": 1}, TypeError, "nesterov: expected True or False"),
        ("SGD", {"dampening": 0.5}, ValueError, "dampening: not in vkml: expected 0.0, got 0.5"),
        ("SGD", {"betas": (0.9, 0.9)}, ValueError, "has no option 'betas'"),
        ("RMSProp", {"alpha": 1.5}, ValueError, "alpha: expected a number from 0 to 1"),
        ("RMSProp", {"eps": -1.0}, ValueError, "eps: expected a number ≥ 0"),
        ("RMSProp", {"centered": 0}, TypeError, "centered: expected True or False"),
        ("RMSProp", {"capturable": True}, ValueError, "capturable: not in vkml"),
        ("Adam", {"betas": (1.0, 0.9)}, ValueError, r"betas\[0\]: expected 0 ≤ number < 1"),
        ("Adam", {"betas": (0.9,)}, TypeError, "betas: expected two numbers"),
        ("Adam", {"amsgrad": True}, ValueError, "amsgrad: not in vkml: expected False"),
        ("Adam", {"differentiable": vkml.ones(1)}, ValueError, "differentiable: not in vkml"),
        ("AdamW", {"decoupled_weight_decay": False}, ValueError, "expected True, got False"),
        ("AdamW", {"fused": True}, ValueError, "fused: not in vkml"),
    ],
)
def test_bad_options(
    name: str, options: dict[str, Any], kind: type[Exception], message: str
) -> None:
    with pytest.raises(kind, match=message):
        getattr(optim, name)([P], **options)


@every
def test_the_neutral_values_of_pytorch_are_taken(configuration: Configuration) -> None:
    reference = configuration.theirs([torch.nn.Parameter(torch.ones(1))], **configuration.options)
    optimizer = configuration.ours([P], **reference.defaults)
    assert optimizer.defaults == reference.defaults
    assert str(optimizer) == str(
        configuration.ours([P], **configuration.options)
    ) and "lr: 0" in str(optimizer)


def test_a_bad_group_is_not_added() -> None:
    optimizer = optim.Adam([P])
    with pytest.raises(ValueError, match="eps"):
        optimizer.add_param_group({"params": [nn.Parameter(vkml.ones(2))], "eps": -1.0})
    assert len(optimizer.param_groups) == 1

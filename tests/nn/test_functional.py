"""nn.functional: PyTorch's names and arguments; errors of the simple layers."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import torch

import vkml
from vkml import nn

F = nn.functional


def test_it_has_pytorchs_names() -> None:
    x, w, b = vkml.ones(2, 3), vkml.ones(4, 3), vkml.ones(4)
    assert F.linear(x, w, b).tolist() == [[4.0] * 4] * 2
    assert F.relu is vkml.relu
    assert all(callable(getattr(F, name)) for name in F.__all__)
    assert all(hasattr(torch.nn.functional, name) for name in F.__all__)


@pytest.mark.parametrize(
    "name", ["batch_norm", "embedding", "group_norm", "layer_norm", "rms_norm"]
)
def test_arguments_are_pytorchs_in_its_order(name: str) -> None:
    ours = inspect.signature(getattr(F, name)).parameters
    theirs = inspect.signature(getattr(torch.nn.functional, name)).parameters
    assert list(ours) == list(theirs)[: len(ours)]
    for key, parameter in ours.items():
        assert parameter.default == theirs[key].default, key


@pytest.mark.parametrize("x", [-20.0, -3.0, -1e-3, 0.0, 1e-3, 3.0, 20.0])
def test_gelus_tanh_form_is_pytorchs_at_the_edges(x: float) -> None:
    ours = F.gelu(vkml.tensor([x]), approximate="tanh").numpy()
    theirs = torch.nn.functional.gelu(torch.tensor([x]), approximate="tanh").numpy()
    np.testing.assert_allclose(ours, theirs, 2e-5, 1e-7)


def test_an_identity_takes_any_arguments() -> None:
    x = vkml.ones(2)
    assert nn.Identity(3, bias=False)(x) is x


def test_bad_arguments() -> None:
    for call, error, message in (
        (lambda: nn.Linear(0, 3), ValueError, "in_features: expected at least 1"),
        (lambda: nn.Linear(3, 0), ValueError, "out_features: expected at least 1"),
        (lambda: nn.Linear(4, 2)(vkml.ones(3, 5)), ValueError, "inner sizes differ"),
        (lambda: nn.GELU("erf"), ValueError, "GELU: approximate: got 'erf'"),
        (lambda: F.gelu(vkml.ones(1), "erf"), ValueError, "gelu: approximate: got 'erf'"),
        (lambda: F.gelu(vkml.tensor([1]), "tanh"), TypeError, "floating-point"),
        (lambda: nn.LeakyReLU("0.1"), TypeError, "negative_slope: expected a number"),
        (lambda: nn.ELU(None), TypeError, "alpha: expected a number"),
        (lambda: nn.Softplus(0.0)(vkml.ones(1)), ValueError, "beta must be > 0"),
        (lambda: nn.Softmax(None), TypeError, "Softmax: dim: expected an int"),
        (lambda: nn.LogSoftmax(1.0), TypeError, "LogSoftmax: dim: expected an int"),
        (lambda: nn.Softmax(2)(vkml.ones(2, 2)), IndexError, "dim 2 is out of range"),
        (lambda: F.kl_div(vkml.ones(2), vkml.ones(2), "max"), ValueError, "reduction"),
    ):
        with pytest.raises(error, match=message):
            call()

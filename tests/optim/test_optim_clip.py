"""Clipping: PyTorch's numbers, lazy, and nothing changed where it is refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import vkml
from tests.optim.configurations import submissions
from vkml import nn, optim

SHAPES = [(3, 4), (), (7,), (1500,)]
NORMS = pytest.mark.parametrize("norm_type", [2.0, 1.0, math.inf, 2, "inf"])


def pair(grads: list[np.ndarray]) -> tuple[list[nn.Parameter], list[Any]]:
    """Make parameters of both libraries with these gradients."""
    ours = [nn.Parameter(vkml.tensor(np.zeros_like(g))) for g in grads]
    theirs = [torch.nn.Parameter(torch.zeros(g.shape, dtype=torch.tensor(g).dtype)) for g in grads]
    for p, q, g in zip(ours, theirs, grads, strict=True):
        p.grad, q.grad = vkml.tensor(g), torch.from_numpy(np.array(g))
    return ours, theirs


def gradients(scale: float = 1.0, dtype: Any = np.float32) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [(scale * np.array(rng.standard_normal(s))).astype(dtype) for s in SHAPES]


def agree(ours: list[nn.Parameter], theirs: list[Any], rtol: float = 1e-5) -> None:
    for p, q in zip(ours, theirs, strict=True):
        assert p.grad.dtype is p.dtype
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol)


@NORMS
@pytest.mark.parametrize("max_norm", [0.0, 0.5, 3, 1e6, math.inf])
def test_norms_agree_with_pytorch(norm_type: Any, max_norm: float) -> None:
    ours, theirs = pair(gradients())
    norm = optim.clip_grad_norm_(ours, max_norm, norm_type)
    wanted = torch.nn.utils.clip_grad_norm_(theirs, max_norm, norm_type)
    assert (norm.shape, norm.dtype) == ((), vkml.float32)
    assert norm.item() == pytest.approx(wanted.item(), rel=1e-5)
    agree(ours, theirs)


@NORMS
@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_norms_that_are_not_finite(norm_type: Any, bad: float) -> None:
    grads = gradients()
    grads[0][1, 2] = bad
    ours, theirs = pair(grads)
    before = [p.grad for p in ours]
    with pytest.raises(RuntimeError, match="the gradients have the norm"):
        optim.clip_grad_norm_(ours, 1.0, norm_type, error_if_nonfinite=True)
    assert all(p.grad is g for p, g in zip(ours, before, strict=True))
    norm = optim.clip_grad_norm_(ours, 1.0, norm_type)
    wanted = torch.nn.utils.clip_grad_norm_(theirs, 1.0, norm_type)
    np.testing.assert_equal(norm.item(), wanted.item())
    agree(ours, theirs)


def test_a_finite_norm_passes_the_check() -> None:
    ours, theirs = pair(gradients(scale=9.0))
    optim.clip_grad_norm_(ours, 1.0, error_if_nonfinite=True)
    torch.nn.utils.clip_grad_norm_(theirs, 1.0)
    agree(ours, theirs)


@given(
    hnp.arrays(np.float32, (5,), elements=st.floats(-1e3, 1e3, width=32)),
    hnp.arrays(np.float32, (2, 2), elements=st.floats(-1e3, 1e3, width=32)),
    st.floats(0, 1e3),
)
def test_the_norm_after_is_at_most_the_limit(
    first: np.ndarray, second: np.ndarray, limit: float
) -> None:
    ours, _ = pair([first, second])
    optim.clip_grad_norm_(ours, limit)
    after = math.sqrt(sum(float((p.grad.numpy().astype(float) ** 2).sum()) for p in ours))
    assert after <= limit * (1 + 1e-5) + 1e-30


def test_float16_gradients_do_not_overflow() -> None:
    ours, theirs = pair(gradients(scale=400.0, dtype=np.float16))
    norm = optim.clip_grad_norm_(ours, 2.0)
    exact = math.sqrt(sum(float((p.grad.numpy().astype(float) ** 2).sum()) for p in theirs))
    assert norm.item() == pytest.approx(exact, rel=1e-5)
    torch.nn.utils.clip_grad_norm_(theirs, 2.0)
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), 3e-3, 1e-6)


@pytest.mark.parametrize("clip_value", [0.0, 0.3, 1, 1e6])
def test_values_agree_with_pytorch(clip_value: float) -> None:
    ours, theirs = pair(gradients())
    assert optim.clip_grad_value_(ours, clip_value) is None
    torch.nn.utils.clip_grad_value_(theirs, clip_value)
    for p, q in zip(ours, theirs, strict=True):
        assert p.grad.numpy().tobytes() == q.grad.numpy().tobytes()


def test_nothing_is_computed() -> None:
    ours, _ = pair(gradients())
    start = submissions()
    optim.clip_grad_norm_(iter(ours), 1.0)
    optim.clip_grad_value_(iter(ours), 1.0)
    assert submissions() == start
    assert not any(p.grad.requires_grad for p in ours)


def test_parameters_without_gradient_or_elements_and_given_twice() -> None:
    p, q, r = (nn.Parameter(vkml.ones(n)) for n in (2, 0, 3))
    p.grad, q.grad = vkml.tensor([3.0, 4.0]), vkml.ones(0)
    for norm_type in (1, 2, math.inf):
        norm = optim.clip_grad_norm_([p, q, r, p], 100.0, norm_type)
        assert norm.item() == {1: 7.0, 2: 5.0, math.inf: 4.0}[norm_type]
    assert optim.clip_grad_norm_(p, 2.5).item() == 5.0
    assert p.grad.tolist() == pytest.approx([1.5, 2.0]) and r.grad is None
    assert optim.clip_grad_norm_([q], 1.0).item() == 0.0
    assert optim.clip_grad_norm_([r], 1.0).item() == 0.0
    assert optim.clip_grad_norm_([], 1.0).item() == 0.0


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ((-1.0,), ValueError, "max_norm: expected a number ≥ 0"),
        ((math.nan,), ValueError, "max_norm: expected a number ≥ 0"),
        (("1",), TypeError, "max_norm: expected a number"),
        ((1.0, 3), ValueError, "norm_type: expected 2, 1 or inf, got 3"),
        ((1.0, "two"), TypeError, "norm_type: expected a number"),
        ((1.0, 2, 1), TypeError, "error_if_nonfinite: expected True or False"),
    ],
)
def test_bad_arguments(arguments: tuple[Any, ...], kind: type[Exception], message: str) -> None:
    ours, _ = pair(gradients())
    before = [p.grad for p in ours]
    with pytest.raises(kind, match=f"clip_grad_norm_: {message}"):
        optim.clip_grad_norm_(ours, *arguments)
    assert all(p.grad is g for p, g in zip(ours, before, strict=True))


def test_bad_parameters_and_values() -> None:
    with pytest.raises(TypeError, match="clip_grad_norm_: parameter 0: expected a Tensor"):
        optim.clip_grad_norm_([3], 1.0)
    with pytest.raises(TypeError, match="clip_grad_norm_: expected parameters, got int"):
        optim.clip_grad_norm_(3, 1.0)
    with pytest.raises(ValueError, match="clip_grad_value_: clip_value: expected a number ≥ 0"):
        optim.clip_grad_value_([], -1.0)

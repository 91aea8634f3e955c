"""A tensor prints as PyTorch prints it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import vkml

F, I = np.float32, np.int64
VALUES: tuple[Any, ...] = (
    np.array([], F),
    np.zeros((0, 3), F),
    np.zeros((2, 0), I),
    F(1.5),
    F(3.0),
    I(7),
    np.bool_(True),
    np.bool_(False),
    np.array([1, 2, 3], F),
    np.array([1.5, 2, 3], F),
    np.array([0.1, 0.25, -3], F),
    np.array([0, 0], F),
    np.array([-0.0, 0.0], F),
    np.array([1e-5, 1], F),
    np.array([1e-5, 2e-5], F),
    np.array([0.00012345, 0.5], F),
    np.array([1e8, 1], F),
    np.array([123456789, 1], F),
    np.array([1e10, 2e10], F),
    np.array([1e10, 1.5], F),
    np.array([1000.5, 1.25], F),
    np.array([10000.5, 1.25], F),
    np.array([np.nan, 1], F),
    np.array([np.nan, 1.5], F),
    np.array([np.inf, -np.inf, 1], F),
    np.array([np.inf, 0.25], F),
    np.array([np.nan], F),
    F(np.nan),
    F(-np.inf),
    F(1e10),
    F(1e-10),
    F(123456.75),
    np.array([1, -20, 300], I),
    np.array([[1, -20], [300, 4]], I),
    np.array([True, False]),
    np.array([True, True]),
    np.array([[True, False], [False, False]]),
    np.arange(6, dtype=F).reshape(2, 3),
    np.arange(6, dtype=F).reshape(2, 3) / 4,
    np.arange(24, dtype=F).reshape(2, 3, 4),
    np.arange(24, dtype=I).reshape(2, 3, 4),
    np.arange(16, dtype=F).reshape(2, 2, 2, 2) / 8,
    np.arange(30, dtype=I),
    np.arange(30, dtype=F),
    np.arange(30, dtype=F) / 7,
    np.arange(60, dtype=F).reshape(2, 30) / 7,
    np.arange(1001, dtype=I),
    np.arange(1001, dtype=F) / 3,
    np.arange(1000, dtype=I),
    np.arange(1200, dtype=F).reshape(30, 40),
    np.arange(1200, dtype=F).reshape(30, 40) / 7,
    np.arange(2400, dtype=I).reshape(20, 30, 4),
    np.arange(4000, dtype=I).reshape(2, 1000, 2),
    np.array([1, 2], np.int32),
    np.array([1.5, 2], np.float16),
    np.array([[0.1, 65504]], np.float16),
    np.array([], np.float16),
    np.zeros((0,), I),
)


def _want(t: torch.Tensor) -> str:
    return repr(t).replace("torch.bool", "vkml.bool_").replace("torch.", "vkml.")


@pytest.mark.parametrize("value", VALUES, ids=lambda v: f"{v.dtype}{v.shape}{v.ravel()[:3]}")
def test_repr(value: Any) -> None:
    array = np.asarray(value)
    assert repr(vkml.tensor(array)) == _want(torch.from_numpy(array.copy()))


@pytest.mark.parametrize("seed", range(25))
def test_repr_of_random_values(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 5, rng.integers(0, 4)))
    array = (rng.normal(size=shape) * 10.0 ** rng.integers(-6, 9)).astype(np.float32)
    array = np.asarray(np.round(array) if seed % 3 == 0 else array)
    assert repr(vkml.tensor(array)) == _want(torch.from_numpy(array))


def test_repr_tells_the_gradient() -> None:
    x = vkml.tensor([1.0], requires_grad=True)
    t = torch.tensor([1.0], requires_grad=True)
    assert repr(x) == repr(t) == "tensor([1.], requires_grad=True)"
    assert repr(x * 2) == "tensor([2.], grad_fn=<mul>)"
    assert repr((x * 2).detach()) == "tensor([2.])"


def test_dtypes_print_their_name() -> None:
    assert repr(vkml.float16) == "vkml.float16" and str(vkml.bool_) == "vkml.bool_"

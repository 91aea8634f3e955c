"""The gradients at ties, kinks, bounds and zeros are those that the documentation states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import pytest
import torch

import vkml
from vkml import Tensor

from .derivatives import leaf

INF: Final = float("inf")


def gradients(function: Callable[..., Tensor], *values: Any) -> list[Any]:
    inputs = [leaf(np.array(v, np.float32)) for v in values]
    return [g.tolist() for g in vkml.grad(function(*inputs).sum(), inputs) if g is not None]


STATED: Final[Sequence[tuple[str, Callable[..., Tensor], list[Any], list[Any]]]] = (
    ("amax ties", lambda x: x.amax(1), [[[2, 1, 2], [3, 3, 3]]], [[[1, 0, 1], [1, 1, 1]]]),
    ("amin ties", lambda x: x.amin(0), [[[2, 1], [2, 3], [4, 1]]], [[[1, 1], [1, 0], [0, 1]]]),
    ("amax of zeros of either sign", lambda x: x.amax(), [[0.0, -0.0, -1]], [[1, 1, 0]]),
    (
        "maximum ties",
        lambda a, b: vkml.maximum(a, b),
        [[1, 2, 3], [1, 3, 2]],
        [[1, 0, 1], [0, 1, 0]],
    ),
    (
        "minimum ties",
        lambda a, b: vkml.minimum(a, b),
        [[1, 2, 3], [1, 3, 2]],
        [[1, 1, 0], [0, 0, 1]],
    ),
    ("maximum of a tensor and itself", lambda x: vkml.maximum(x, x), [[1, -1]], [[1, 1]]),
    ("relu at 0", lambda x: x.relu(), [[0.0, -0.0, 1e-40, -1e-40]], [[0, 0, 1, 0]]),
    ("abs at 0", lambda x: x.abs(), [[0.0, -0.0, 3, -3]], [[0, 0, 1, -1]]),
    ("clamp at its bounds", lambda x: x.clamp(-1, 1), [[-2, -1, 0, 1, 2]], [[0, 1, 1, 1, 0]]),
    ("clamp_min at its bound", lambda x: x.clamp_min(1), [[0, 1, 2]], [[0, 1, 1]]),
    ("clamp_max at its bound", lambda x: x.clamp_max(1), [[0, 1, 2]], [[1, 1, 0]]),
    (
        "clamp by tensors at the bounds",
        lambda x, a, b: x.clamp(a, b),
        [[-1, 1], [-1, -1], [1, 1]],
        [[1, 1], [0, 0], [0, 0]],
    ),
    ("elu at 0", lambda x: x.elu(2.0), [[0.0]], [[2]]),
    ("leaky_relu at 0", lambda x: x.leaky_relu(0.5), [[0.0]], [[0.5]]),
    ("softplus at its threshold", lambda x: x.softplus(1.0, 0.0), [[0.0, 1]], [[0.5, 1]]),
    (
        "l1_loss of equals",
        lambda a, b: vkml.l1_loss(a, b, "sum"),
        [[1, 2], [1, 1]],
        [[0, 1], [0, -1]],
    ),
    ("pow of 0 to 0", lambda x, y: x**y, [[0.0], [0.0]], [[0], [0]]),
    ("pow of 0 to 1 and 2", lambda x, y: x**y, [[0.0, 0.0], [1, 2]], [[1, 0], [0, 0]]),
    ("pow of 0 to ½ and −1", lambda x, y: x**y, [[0.0, 0.0], [0.5, -1]], [[INF, -INF], [0, -INF]]),
    ("pow to 0", lambda x, y: x**y, [[1, -2, INF], [0, 0, 0]], [[0, 0, 0], [0, float("nan"), INF]]),
    ("prod with a zero", lambda x: x.prod(), [[2, 0, 3]], [[0, 6, 0]]),
    ("prod with two zeros", lambda x: x.prod(), [[2, 0, 0]], [[0, 0, 0]]),
    ("prod of nothing", lambda x: x.prod(1), [np.zeros((2, 0))], [[[], []]]),
    ("sum of nothing", lambda x: x.sum(), [np.zeros((0, 2))], [[]]),
    (
        "max_pool2d ties",
        lambda x: x.max_pool2d(2, 1),
        [np.ones((1, 1, 2, 3))],
        [[[[[1, 1, 0], [0, 0, 0]]]]],
    ),
    ("sort ties", lambda x: x.sort()[0] * vkml.tensor([1.0, 2, 3]), [[5, 1, 5]], [[2, 1, 3]]),
    (
        "sort down ties",
        lambda x: x.sort(descending=True)[0] * vkml.tensor([1.0, 2, 3]),
        [[5, 1, 5]],
        [[1, 3, 2]],
    ),
    ("topk ties", lambda x: x.topk(2)[0], [[5, 5, 5]], [[1, 1, 0]]),
    ("gather of one element thrice", lambda x: x[[1, 1, 1]], [[4, 5]], [[0, 3]]),
    ("remainder", lambda a, b: a % b, [[5, -5], [3, 3]], [[1, 1], [-1, 2]]),
    ("std of equals", lambda x: x.std(), [[3, 3, 3]], [[0, 0, 0]]),
)


@pytest.mark.parametrize(
    ("function", "values", "wanted"), [s[1:] for s in STATED], ids=[s[0] for s in STATED]
)
def test_stated_gradient(
    function: Callable[..., Tensor], values: list[Any], wanted: list[Any]
) -> None:
    for found, want in zip(gradients(function, *values), wanted, strict=True):
        np.testing.assert_array_equal(found, want)


def test_amax_differs_from_torch_at_ties_only() -> None:
    x = torch.tensor([2.0, 1.0, 2.0], requires_grad=True)
    (shared,) = torch.autograd.grad(torch.amax(x), x)
    assert shared.tolist() == [0.5, 0.0, 0.5]
    assert gradients(lambda t: t.amax(), [2, 1, 2]) == [[1, 0, 1]]


SELECTIONS: Final[list[Callable[[Tensor], Tensor]]] = [
    lambda x: vkml.where(x > 5, x, 0.0),
    lambda x: vkml.where(x < 5, 0.0, x),
    lambda x: x.clamp(3, 4),
    lambda x: (x - 9).relu(),
    lambda x: x.masked_fill(vkml.tensor([True, True]), 1.0),
]


@pytest.mark.parametrize("function", SELECTIONS)
def test_an_infinite_gradient_does_not_reach_what_was_not_selected(
    function: Callable[[Tensor], Tensor],
) -> None:
    x, hot = leaf(np.array([1.0, 2.0])), vkml.tensor([INF, float("nan")])
    (found,) = vkml.grad(function(x), x, grad_outputs=hot)
    assert found is not None and found.tolist() == [0.0, 0.0]


POWERS: Final = [0.0, 1.0, -1.0, 0.5, 2.0, -2.0, 3.0, INF, -INF]
BASES: Final = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, -3.0, INF, -INF]


def test_pow_at_special_values_is_torchs() -> None:
    a, b = (v.ravel().astype(np.float32) for v in np.meshgrid(BASES, POWERS))
    x, y = (torch.tensor(v, requires_grad=True) for v in (a, b))
    wanted = torch.autograd.grad((x**y).sum(), (x, y))
    for found, want in zip(gradients(lambda p, q: p**q, a, b), wanted, strict=True):
        np.testing.assert_allclose(found, want.numpy(), rtol=1e-6)


SMOOTH: Final = (
    "abs exp exp2 expm1 sin cos tan tanh sigmoid erf erfc sqrt rsqrt reciprocal log log2 log10 "
    "log1p"
)
SPECIAL: Final = [0.0, -0.0, 1.0, -1.0, 20.0, -20.0, 1e-30, -1e-30, INF, -INF, float("nan")]


@pytest.mark.parametrize("name", SMOOTH.split())
def test_unary_at_special_values_is_torchs(name: str) -> None:
    a = np.array(SPECIAL, np.float32)
    x = torch.tensor(a, requires_grad=True)
    (wanted,) = torch.autograd.grad(getattr(torch, name)(x).sum(), x)
    (found,) = gradients(lambda t: getattr(t, name)(), a)
    np.testing.assert_allclose(found, wanted.numpy(), rtol=1e-5, atol=1e-12)


def test_float16_gradients_are_float16() -> None:
    x = vkml.tensor([0.5, -1.5], dtype=vkml.float16, requires_grad=True)
    w = vkml.tensor([[1.0], [2.0]], requires_grad=True)
    loss = ((x * 2).exp().sum() + (x.softmax() @ w).sum()) * 3
    assert loss.dtype is vkml.float32
    loss.backward()
    assert x.grad is not None and x.grad.dtype is vkml.float16
    assert w.grad is not None and w.grad.dtype is vkml.float32
    half = vkml.tensor([1.0, 2.0], dtype=vkml.float16, requires_grad=True)
    (found,) = vkml.grad((half * half).sum(), half)
    assert found is not None and found.dtype is vkml.float16 and found.tolist() == [2.0, 4.0]

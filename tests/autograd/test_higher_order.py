"""Derivatives of derivatives: Hessians are symmetric, products and mixed partials agree."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest
import torch

import vkml
from vkml import Tensor

from .case import Case
from .cases import CASES
from .derivatives import STEP, assert_close, exact, floating, gradients, leaf, weighted_sum
from .evaluate import Array, evaluate

SMALL: Final = [c for c in CASES if sum(a.size for a in c.arrays()) <= 16]
small_case = pytest.mark.parametrize("case", SMALL, ids=lambda c: c.name)


def gradient_of(case: Case) -> tuple[list[Tensor], list[Tensor]]:
    inputs = [leaf(a) for a in case.arrays()]
    loss = weighted_sum(0, floating(case.function(vkml, *inputs)))
    return inputs, gradients(loss, inputs)


def hessian(inputs: list[Tensor], first: list[Tensor]) -> Array:
    """Give the second derivatives of all inputs, flattened, as one matrix."""
    rows = []
    for g in first:
        flat = g.reshape(-1)
        for i in range(flat.size):
            second = exact(gradients(flat[i], inputs), inputs)
            rows.append(np.concatenate([s.ravel() for s in second]))
    return np.stack(rows)


@small_case
def test_hessian_is_symmetric(case: Case) -> None:
    found = hessian(*gradient_of(case))
    scale = max(1.0, float(np.abs(found).max()))
    np.testing.assert_allclose(found, found.T, rtol=0, atol=1e-7 * scale)


@small_case
def test_hessian_vector_product_is_the_change_of_the_gradient(case: Case) -> None:
    inputs, first = gradient_of(case)
    rng = np.random.default_rng(3)
    ways = [rng.normal(size=x.shape) for x in inputs]
    ends = []
    for h in (STEP, -STEP):
        moved = {x.node.serial: x.numpy() + h * v for x, v in zip(inputs, ways, strict=True)}
        ends.append(evaluate([g.node for g in first], moved))
    wanted = [(a - b) / (2 * STEP) for a, b in zip(*ends, strict=True)]
    directions = [vkml.tensor(v.astype(np.float32)) for v in ways]
    dot = vkml.tensor(0.0)
    for g, v in zip(first, directions, strict=True):
        dot = dot + (g * v).sum()
    assert_close(exact(gradients(dot, inputs), inputs), wanted, 1e-6)


def derivatives(function: Callable[[Tensor], Tensor], at: float, highest: int) -> list[float]:
    """Give f(at), f′(at), … as the device computes them."""
    x = leaf(np.array(at))
    found = [function(x)]
    for _ in range(highest):
        found += gradients(found[-1], [x])
    vkml.realize(found)
    return [float(t.item()) for t in found]


def test_derivatives_of_a_cube() -> None:
    assert derivatives(lambda x: x**3, 2.0, 4) == [8, 12, 12, 6, 0]
    assert derivatives(lambda x: x * x * x, 2.0, 4) == [8, 12, 12, 6, 0]
    assert derivatives(lambda x: x**3, 0.0, 4) == [0, 0, 0, 6, 0]
    assert derivatives(lambda x: x**4, -1.0, 5) == [1, -4, 12, -24, 24, 0]


KNOWN: Final[list[tuple[str, Callable[[Tensor], Tensor], list[float]]]] = [
    ("exp", lambda x: x.exp(), [np.exp(0.5)] * 5),
    ("sin", lambda x: x.sin(), [np.sin(0.5), np.cos(0.5), -np.sin(0.5), -np.cos(0.5), np.sin(0.5)]),
    ("log", lambda x: x.log(), [np.log(0.5), 2, -4, 16, -96]),
    ("reciprocal", lambda x: x.reciprocal(), [2, -4, 16, -96, 768]),
    ("division", lambda x: 1 / x, [2, -4, 16, -96, 768]),
    ("sqrt", lambda x: (x * 0.5).sqrt(), [0.5, 0.5, -0.5, 1.5, -7.5]),
    ("square", lambda x: x.square(), [0.25, 1, 2, 0, 0]),
]


@pytest.mark.parametrize(("function", "wanted"), [k[1:] for k in KNOWN], ids=[k[0] for k in KNOWN])
def test_four_derivatives_on_the_device(
    function: Callable[[Tensor], Tensor], wanted: list[float]
) -> None:
    np.testing.assert_allclose(derivatives(function, 0.5, 4), wanted, rtol=2e-6)


def test_erf_and_erfc_to_third_order() -> None:
    slope = 2 / np.sqrt(np.pi) * np.exp(-0.25)
    wanted = [slope, -slope, -slope]
    np.testing.assert_allclose(derivatives(lambda x: x.erf(), 0.5, 3)[1:], wanted, rtol=2e-6)
    negative = [-w for w in wanted]
    np.testing.assert_allclose(derivatives(lambda x: x.erfc(), 0.5, 3)[1:], negative, rtol=2e-6)


TWO: Final[list[Callable[[Tensor, Tensor, Tensor], Tensor]]] = [
    lambda x, y, z: (x * y).sin() * z,
    lambda x, y, z: x**y / (1 + z * z),
    lambda x, y, z: vkml.stack([x, y, x * z, z]).softmax(0).prod(),
    lambda x, y, z: vkml.stack([x, y, z, z * x]).reshape(2, 2).var(0).sum().sqrt(),
    lambda x, y, z: vkml.stack([x * y, z, x]).cumsum(0).erf().prod(),
]


@pytest.mark.parametrize("function", TWO)
def test_mixed_partials_do_not_depend_on_the_order(
    function: Callable[[Tensor, Tensor, Tensor], Tensor],
) -> None:
    inputs = [leaf(np.array(v)) for v in (0.75, 1.25, -0.5)]
    found = []
    for order in itertools.permutations(range(3)):
        value = function(*inputs)
        for i in order:
            (value,) = gradients(value, [inputs[i]])
        found.append(exact([value], inputs)[0])
    np.testing.assert_allclose(found, found[0], rtol=1e-7, atol=1e-9)


def penalty(m: Any, grad: Callable[[Any, Any], Any], x: Any, w: Any, v: Any) -> Any:
    """A loss with the norm of an input gradient in it: Gulrajani et al. (2017)."""
    hidden = m.tanh(x @ w)
    score = (hidden @ v).sum()
    slope = grad(score, x)
    return (((slope * slope).sum(1) + 1e-3).sqrt() - 1).square().mean() + score


def test_gradient_penalty_is_that_of_torch() -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=s).astype(np.float32) for s in ((4, 3), (3, 5), (5, 1))]
    ours = [leaf(a) for a in arrays]
    penalty(vkml, lambda s, x: vkml.grad(s, x, create_graph=True)[0], *ours).backward()
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
    penalty(torch, lambda s, x: torch.autograd.grad(s, x, create_graph=True)[0], *theirs).backward()
    for a, b in zip(ours, theirs, strict=True):
        assert a.grad is not None and b.grad is not None
        np.testing.assert_allclose(a.grad.numpy(), b.grad.numpy(), rtol=1e-5, atol=1e-6)

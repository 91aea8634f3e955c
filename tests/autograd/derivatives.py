"""Takes derivatives of any order three ways: by vkml, by finite differences and by PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import torch

import vkml
from vkml import Tensor

from .evaluate import Array, evaluate

STEP: Final = 1e-5

Outputs = Any
"""One tensor, or several of which floating-point ones are differentiated."""


def leaf(array: Array) -> Tensor:
    """Make a leaf that requires a gradient."""
    made: Tensor = vkml.tensor(array, requires_grad=True)
    return made


def weights(order: int, shapes: Sequence[tuple[int, ...]]) -> list[Array]:
    """Give fixed numbers, exact in float32, that make a scalar of outputs or gradients."""
    rng = np.random.default_rng(order)
    return [(rng.integers(4, 12, s) * rng.choice([-0.125, 0.125], s)) for s in shapes]


def weighted_sum(order: int, tensors: Sequence[Tensor]) -> Tensor:
    """Give Σ weight · element over several tensors."""
    numbers = weights(order, [t.shape for t in tensors])
    total: Tensor = vkml.tensor(0.0)
    for t, w in zip(tensors, numbers, strict=True):
        total = total + (t * vkml.tensor(w.astype(np.float32))).sum()
    return total


def floating(outputs: Outputs) -> list[Any]:
    """Give the floating-point tensors among one or several outputs."""
    several = [outputs] if isinstance(outputs, Tensor | torch.Tensor) else list(outputs)
    return [t for t in several if t.dtype.is_floating_point]


def gradients(loss: Tensor, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Give d(loss)/d(inputs) as a graph; zeros where the loss does not depend on one."""
    if not loss.requires_grad:
        return [vkml.zeros_like(x) for x in inputs]
    found = vkml.grad(loss, list(inputs), create_graph=True, allow_unused=True)
    return [vkml.zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]


def orders(
    outputs: Outputs, inputs: Sequence[Tensor], highest: int
) -> Iterator[tuple[Tensor, list[Tensor]]]:
    """Give a scalar and its gradients, then a scalar of those gradients and its own, and so on."""
    tensors = floating(outputs)
    for order in range(highest):
        loss = weighted_sum(order, tensors)
        tensors = gradients(loss, inputs)
        yield loss, tensors


def exact(tensors: Sequence[Tensor], inputs: Sequence[Tensor] = ()) -> list[Array]:
    """Evaluate a graph in float64."""
    return evaluate([t.node for t in tensors], {x.node.serial: x.numpy() for x in inputs})


def finite_differences(loss: Tensor, inputs: Sequence[Tensor]) -> list[Array]:
    """Differentiate a graph numerically: (f(x + h) − f(x − h)) / 2h for each element of x."""
    at = [x.numpy().astype(np.float64) for x in inputs]
    serials = [x.node.serial for x in inputs]

    def f(values: Sequence[Array]) -> float:
        return float(evaluate([loss.node], dict(zip(serials, values, strict=True)))[0])

    return [_differences(f, at, i) for i in range(len(at))]


def _differences(f: Callable[[Sequence[Array]], float], at: Sequence[Array], i: int) -> Array:
    out = np.zeros(at[i].shape)
    for place in np.ndindex(at[i].shape):
        ends = []
        for h in (STEP, -STEP):
            moved = at[i].copy()
            moved[place] += h
            ends.append(f([*at[:i], moved, *at[i + 1 :]]))
        out[place] = (ends[0] - ends[1]) / (2 * STEP)
    return out


def torch_orders(
    function: Callable[..., Any], arrays: Sequence[Array], highest: int
) -> Iterator[list[Array]]:
    """Give PyTorch's float64 gradients of the same scalars that `orders` makes."""
    inputs = [torch.tensor(a, dtype=torch.float64, requires_grad=True) for a in arrays]
    tensors = floating(function(*inputs))
    for order in range(highest):
        numbers = weights(order, [tuple(t.shape) for t in tensors])
        loss = torch.zeros((), dtype=torch.float64)
        for t, w in zip(tensors, numbers, strict=True):
            loss = loss + (t * torch.tensor(w)).sum()
        tensors = _torch_gradients(loss, inputs)
        yield [t.numpy(force=True) for t in tensors]


def _torch_gradients(loss: torch.Tensor, inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    if not loss.requires_grad:
        return [torch.zeros_like(x) for x in inputs]
    found = torch.autograd.grad(loss, list(inputs), create_graph=True, allow_unused=True)
    return [torch.zeros_like(x) if g is None else g for x, g in zip(inputs, found, strict=True)]


def assert_close(found: Sequence[Array], wanted: Sequence[Array], tolerance: float) -> None:
    """Compare element by element, relative to the largest element of each array."""
    for a, b in zip(found, wanted, strict=True):
        assert a.shape == b.shape
        scale = max(1.0, float(np.max(np.abs(b), initial=0.0)))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * scale)

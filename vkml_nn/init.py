"""Filling tensors with starting values, in place; random ones follow `vkml.manual_seed`."""

from __future__ import annotations

import math

from vkml_core.errors import ShapeError
from vkml_core.functional.random import rand
from vkml_core.graph import no_grad
from vkml_core.shapes import Shape, size
from vkml_core.tensor import Tensor


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fill with numbers uniform in [a, b): the same bits on every device."""
    with no_grad():
        values = rand(tensor.shape, device=tensor.device) * (b - a) + a
        return tensor.assign_(values).realize()


def constant_(tensor: Tensor, value: float) -> Tensor:
    """Fill with one number."""
    with no_grad():
        return tensor.assign_(value).realize()


def fan_in(shape: Shape) -> int:
    """Count the inputs of one output of a weight (out, in, …)."""
    if len(shape) < 2:
        raise ShapeError(f"fan_in: expected a weight of rank ≥ 2, got shape {shape}")
    return size(shape[1:])


def fan_in_uniform_(weight: Tensor, bias: Tensor | None) -> None:
    """Fill both uniformly within ±1/√fan_in: PyTorch's default for Linear and Conv.

    It is He et al. (2015), kaiming_uniform with a = √5.
    """
    inputs = fan_in(weight.shape)
    bound = 1.0 / math.sqrt(inputs) if inputs else 0.0
    for tensor in (weight, bias):
        if tensor is not None:
            uniform_(tensor, -bound, bound)

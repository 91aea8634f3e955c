"""Filling tensors with starting values, in place; random ones follow `vkml.manual_seed`.

Names and formulas are PyTorch's; every function gives the tensor back, computed.
"""

from __future__ import annotations

import math

from vkml_core.errors import ArgumentError, ShapeError
from vkml_core.functional.common import choice_arg, float_arg, number_arg, tensor_arg
from vkml_core.functional.creation import eye
from vkml_core.functional.random import rand, randn
from vkml_core.graph import no_grad
from vkml_core.shapes import Shape, size
from vkml_core.tensor import Tensor
from vkml_nn.gain import calculate_gain
from vkml_nn.truncated import truncated_normal

__all__ = [
    "calculate_gain",
    "constant_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]


def _fill(tensor: Tensor, values: Tensor | float) -> Tensor:
    with no_grad():
        return tensor.assign_(values).realize()


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0) -> Tensor:
    """Fill with numbers uniform from a to b (b itself comes by rounding only)."""
    shape = float_arg(tensor, "uniform_: tensor").shape
    low, high = number_arg(a, "uniform_: a"), number_arg(b, "uniform_: b")
    if not low <= high:
        raise ArgumentError(f"uniform_: expected a ≤ b, got a={a}, b={b}")
    with no_grad():
        return _fill(tensor, rand(shape, device=tensor.device) * (high - low) + low)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0) -> Tensor:
    """Fill with normal numbers."""
    shape = float_arg(tensor, "normal_: tensor").shape
    middle, spread = number_arg(mean, "normal_: mean"), number_arg(std, "normal_: std")
    if not spread >= 0.0:
        raise ArgumentError(f"normal_: expected std ≥ 0, got {std}")
    with no_grad():
        return _fill(tensor, randn(shape, device=tensor.device) * spread + middle)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0
) -> Tensor:
    """Fill with normal numbers conditioned on lying within [a, b], drawn until all do."""
    x = float_arg(tensor, "trunc_normal_: tensor")
    names = ("mean", "std", "a", "b")
    given = zip(names, (mean, std, a, b), strict=True)
    numbers = {name: number_arg(value, f"trunc_normal_: {name}") for name, value in given}
    if not (numbers["std"] > 0.0 and numbers["a"] < numbers["b"]):
        raise ArgumentError(f"trunc_normal_: expected std > 0 and a < b, got {numbers}")
    with no_grad():
        return _fill(x, truncated_normal(x.shape, **numbers, dtype=x.dtype, device=x.device))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number."""
    return _fill(tensor_arg(tensor, "constant_: tensor"), val)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0."""
    return constant_(tensor, 0.0)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1."""
    return constant_(tensor, 1.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity, as far as it reaches."""
    x = tensor_arg(tensor, "eye_: tensor")
    if x.ndim != 2:
        raise ShapeError(f"eye_: expected rank 2, got shape {x.shape}")
    return _fill(x, eye(x.shape[0], x.shape[1], x.dtype, x.device))


def fans(shape: Shape) -> dict[str, int]:
    """Count the inputs of one output of a weight (out, in, …), and the outputs of one input."""
    if len(shape) < 2:
        raise ShapeError(f"fan_in: expected a weight of rank ≥ 2, got shape {shape}")
    window = size(shape[2:])
    return {"fan_in": shape[1] * window, "fan_out": shape[0] * window}


def fan_in(shape: Shape) -> int:
    """Count the inputs of one output of a weight (out, in, …)."""
    return fans(shape)["fan_in"]


def _per_root(gain: float, fan: float) -> float:
    """Give gain/√fan; a weight without elements has no fan."""
    return gain / math.sqrt(fan) if fan else 0.0


def _xavier(op: str, tensor: Tensor, gain: float) -> float:
    count = fans(float_arg(tensor, f"{op}: tensor").shape)
    return _per_root(number_arg(gain, f"{op}: gain"), sum(count.values()) / 2.0)


def xavier_uniform_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fill uniformly within ± gain · √(6 / (fan_in + fan_out)); Glorot and Bengio (2010)."""
    bound = math.sqrt(3.0) * _xavier("xavier_uniform_", tensor, gain)
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor: Tensor, gain: float = 1.0) -> Tensor:
    """Fill with normal numbers, std = gain · √(2 / (fan_in + fan_out)); Glorot, Bengio (2010)."""
    return normal_(tensor, 0.0, _xavier("xavier_normal_", tensor, gain))


def _kaiming(op: str, tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    count = fans(float_arg(tensor, f"{op}: tensor").shape)
    fan = count[choice_arg(mode, f"{op}: mode", tuple(count))]
    return _per_root(calculate_gain(nonlinearity, a), fan)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Fill uniformly within ± gain · √(3 / fan); He et al. (2015).

    `a` is the slope of a leaky_relu that follows, `mode` fan_in or fan_out, and the gain is
    `calculate_gain(nonlinearity, a)`.
    """
    bound = math.sqrt(3.0) * _kaiming("kaiming_uniform_", tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(
    tensor: Tensor, a: float = 0.0, mode: str = "fan_in", nonlinearity: str = "leaky_relu"
) -> Tensor:
    """Fill with normal numbers, std = gain / √fan, as in `kaiming_uniform_`; He et al. (2015)."""
    return normal_(tensor, 0.0, _kaiming("kaiming_normal_", tensor, a, mode, nonlinearity))


def fan_in_uniform_(weight: Tensor, bias: Tensor | None) -> None:
    """Fill both uniformly within ±1/√fan_in: PyTorch's default for Linear and Conv.

    It is He et al. (2015), kaiming_uniform with a = √5.
    """
    bound = _per_root(1.0, fan_in(weight.shape))
    for tensor in (weight, bias):
        if tensor is not None:
            uniform_(tensor, -bound, bound)

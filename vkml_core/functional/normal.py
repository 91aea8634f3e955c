"""Softmax, the normalisations and dropout: compositions, rounded at each step."""

from __future__ import annotations

from collections.abc import Sequence

from vkml_core.errors import ShapeError
from vkml_core.functional.common import (
    bool_arg,
    float_arg,
    number_arg,
    probability_arg,
    stop,
)
from vkml_core.functional.elementwise import call, where
from vkml_core.functional.random import uniform
from vkml_core.functional.reduce import amax, mean, sum
from vkml_core.public import public
from vkml_core.shapes import Shape, check_axis, to_int, to_ints
from vkml_core.tensor import Tensor


def _shifted(op: str, input: Tensor, dim: int) -> tuple[Tensor, int]:
    x = float_arg(input, f"{op}: input")
    axis = check_axis(dim, max(x.ndim, 1), op)
    if x.ndim == 0:
        return x - stop(x), axis
    if x.shape[axis] == 0:
        return x, axis
    return x - stop(amax(x, axis, True)), axis


@public()
def softmax(input: Tensor, dim: int = -1) -> Tensor:
    """e^(x − m) / Σ e^(x − m) with m the largest element along `dim`."""
    shifted, axis = _shifted("softmax", input, dim)
    powers = call("exp", shifted)
    return powers / (sum(powers, axis, True) if shifted.ndim else powers)


@public()
def log_softmax(input: Tensor, dim: int = -1) -> Tensor:
    """(x − m) − ln Σ e^(x − m) with m the largest element along `dim`."""
    shifted, axis = _shifted("log_softmax", input, dim)
    powers = call("exp", shifted)
    return shifted - call("log", sum(powers, axis, True) if shifted.ndim else powers)


def _last_axes(op: str, x: Tensor, normalized: int | Sequence[int]) -> tuple[int, ...]:
    """Read how many trailing dimensions to normalise over, or their sizes as PyTorch gives them."""
    if hasattr(normalized, "__index__"):
        n = to_int(normalized, f"{op}: normalized_axes")
        if not 1 <= n <= x.ndim:
            raise ShapeError(f"{op}: normalized_axes must be 1 to {x.ndim} for {x.shape}, got {n}")
    else:
        sizes = to_ints(normalized, f"{op}: normalized_shape")
        n = len(sizes)
        if not 1 <= n <= x.ndim or x.shape[x.ndim - n :] != sizes:
            raise ShapeError(f"{op}: normalized_shape {sizes} is not the end of shape {x.shape}")
    return tuple(range(x.ndim - n, x.ndim))


def _scaled(op: str, x: Tensor, weight: Tensor | None, bias: Tensor | None, shape: Shape) -> Tensor:
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and float_arg(t, f"{op}: {name}").shape != shape:
            raise ShapeError(f"{op}: {name} has shape {t.shape}, expected {shape}")
    if weight is not None:
        x = x * weight
    return x if bias is None else x + bias


@public()
def layer_norm(
    input: Tensor,
    normalized_axes: int | Sequence[int] = 1,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x − mean) · 1/√(variance + eps) · weight + bias over the last dimensions; Ba et al. (2016).

    `normalized_axes` is their number, or their sizes as in PyTorch.
    """
    x = float_arg(input, "layer_norm: input")
    axes = _last_axes("layer_norm", x, normalized_axes)
    deviation = x - mean(x, axes, True)
    variance = mean(deviation * deviation, axes, True)
    y = deviation * call("rsqrt", variance + number_arg(eps, "layer_norm: eps"))
    return _scaled("layer_norm", y, weight, bias, tuple(x.shape[a] for a in axes))


@public()
def rms_norm(
    input: Tensor,
    normalized_axes: int | Sequence[int] = 1,
    weight: Tensor | None = None,
    eps: float = 1e-6,
) -> Tensor:
    """x · 1/√(mean(x²) + eps) · weight over the last dimensions; Zhang and Sennrich (2019)."""
    x = float_arg(input, "rms_norm: input")
    axes = _last_axes("rms_norm", x, normalized_axes)
    power = mean(x * x, axes, True)
    y = x * call("rsqrt", power + number_arg(eps, "rms_norm: eps"))
    return _scaled("rms_norm", y, weight, None, tuple(x.shape[a] for a in axes))


@public()
def batch_norm(
    input: Tensor,
    mean: Tensor,
    variance: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x − mean) · 1/√(variance + eps) · weight + bias for each channel (dimension 1)."""
    x = float_arg(input, "batch_norm: input")
    if x.ndim < 2:
        raise ShapeError(f"batch_norm: expected rank ≥ 2 (N, C, …), got shape {x.shape}")
    channels = (x.shape[1],)
    given = [("mean", mean), ("variance", variance)]
    given += [(n, t) for n, t in (("weight", weight), ("bias", bias)) if t is not None]
    for name, t in given:
        if float_arg(t, f"batch_norm: {name}").shape != channels:
            raise ShapeError(f"batch_norm: {name} has shape {t.shape}, expected {channels}")
    along = (1, *channels, *(1,) * (x.ndim - 2))
    scale = call("rsqrt", variance + number_arg(eps, "batch_norm: eps"))
    y = (x - mean.reshape(along)) * scale.reshape(along)
    if weight is not None:
        y = y * weight.reshape(along)
    return y if bias is None else y + bias.reshape(along)


@public()
def dropout(
    input: Tensor, p: float = 0.5, seed: int | None = None, offset: int = 0, training: bool = True
) -> Tensor:
    """Zero each element with probability p and scale the rest by 1/(1 − p).

    With `seed` the mask is a function of (shape, seed, offset); without, of `manual_seed`.
    """
    x = float_arg(input, "dropout: input")
    rate = probability_arg(p, "dropout: p")
    if not bool_arg(training, "dropout: training") or rate == 0.0:
        return x
    scale = 0.0 if rate == 1.0 else 1.0 / (1.0 - rate)
    keep = uniform(x.shape, seed, offset, x.node.device, "dropout") >= rate
    return where(keep, x * scale, 0.0)

"""The normalisations as functions, with the arguments that PyTorch gives them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from vkml_core.errors import ArgumentError, ShapeError
from vkml_core.functional import normal
from vkml_core.functional.common import Operand, bool_arg, float_arg, number_arg
from vkml_core.functional.execution import assign
from vkml_core.functional.reduce import mean
from vkml_core.graph import no_grad
from vkml_core.shapes import size, to_int, to_ints
from vkml_core.tensor import Tensor

FLOAT32_EPS: Final = 2.0**-23
"""What PyTorch's rms_norm adds if it is not told: the distance from 1 to the next float32."""


def layer_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x − mean) · 1/√(variance + eps) · weight + bias over the last dimensions; Ba et al. (2016).

    Their sizes are `normalized_shape`, which is the shape of weight and bias as well.
    """
    sizes = to_ints(normalized_shape, "layer_norm: normalized_shape")
    return normal.layer_norm(input, sizes, weight, bias, eps)


def rms_norm(
    input: Tensor,
    normalized_shape: int | Sequence[int],
    weight: Tensor | None = None,
    eps: float | None = None,
) -> Tensor:
    """x · 1/√(mean(x²) + eps) · weight over the last dimensions; Zhang and Sennrich (2019).

    `eps` None means 2⁻²³, as in PyTorch.
    """
    sizes = to_ints(normalized_shape, "rms_norm: normalized_shape")
    return normal.rms_norm(input, sizes, weight, FLOAT32_EPS if eps is None else eps)


def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """(x − mean) · 1/√(variance + eps) · weight + bias for x (N, C, …); Wu and He (2018).

    Mean and variance are those of C / num_groups channels of a sample; weight and bias are (C,).
    """
    x, groups = float_arg(input, "group_norm: input"), to_int(num_groups, "group_norm: num_groups")
    if x.ndim < 2 or groups < 1 or x.shape[1] % groups:
        raise ShapeError(
            f"group_norm: {groups} groups of channels in shape {x.shape}: expected (N, C, …) and "
            "a number of groups that divides C"
        )
    require_several("group_norm", x, groups)
    rows = x.reshape(x.shape[0], groups, size(x.shape[1:]) // groups)
    y = normal.layer_norm(rows, 1, None, None, eps).reshape(x.shape)
    return per_channel("group_norm", y, weight, bias)


def require_several(op: str, x: Tensor, channels: int) -> None:
    """Check that there is more than one value per channel: else all results would be 0."""
    if x.size == channels:
        raise ShapeError(
            f"{op}: expected more than 1 value per channel when training, got shape {x.shape}"
        )


def along_channels(rank: int) -> tuple[int, ...]:
    """Give the shape in which one number per channel broadcasts over (N, C, …)."""
    return (1, -1, *(1,) * (rank - 2))


def per_channel(op: str, x: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """Scale and shift the channels of (N, C, …)."""
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and float_arg(t, f"{op}: {name}").shape != (x.shape[1],):
            raise ShapeError(f"{op}: {name} has shape {t.shape}, expected {(x.shape[1],)}")
    if weight is not None:
        x = x * weight.reshape(along_channels(x.ndim))
    return x if bias is None else x + bias.reshape(along_channels(x.ndim))


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: Operand = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """(x − mean) · 1/√(variance + eps) · weight + bias for each channel of (N, C, …).

    In training, mean and variance (the biased one) are the batch's, and the running ones, if given,
    become (1 − momentum) · running + momentum · batch's, with the unbiased variance: assignments
    that join the next submission. Else they are the running ones. Ioffe and Szegedy (2015).
    """
    op = "batch_norm"
    x = float_arg(input, f"{op}: input")
    if not bool_arg(training, f"{op}: training"):
        if running_mean is None or running_var is None:
            raise ArgumentError(f"{op}: give running_mean and running_var, or training=True")
        return normal.batch_norm(x, running_mean, running_var, weight, bias, eps)
    if x.ndim < 2:
        raise ShapeError(f"{op}: expected rank ≥ 2 (N, C, …), got shape {x.shape}")
    require_several(op, x, x.shape[1])
    center, variance = _moments(x)
    y = normal.batch_norm(x, center, variance, weight, bias, eps)
    _follow(((running_mean, center), (running_var, _unbiased(x, variance))), momentum)
    return y


def _moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """Give mean and biased variance of each channel of (N, C, …)."""
    others = [a for a in range(x.ndim) if a != 1]
    center = mean(x, others, True)
    deviation = x - center
    return center.reshape(-1), mean(deviation * deviation, others)


def _unbiased(x: Tensor, variance: Tensor) -> Tensor:
    """Turn the mean of n squared deviations into their sum divided by n − 1."""
    n = x.size // x.shape[1] if x.size else 0
    return variance * (n / max(n - 1, 1))


def _follow(pairs: Iterable[tuple[Tensor | None, Tensor]], momentum: Operand) -> None:
    """Move running values, where there are any, towards the batch's."""
    share = momentum
    if not isinstance(share, Tensor):
        share = number_arg(share, "batch_norm: momentum")
    given = [(old, new) for old, new in pairs if old is not None]
    with no_grad():
        values = [old * (1.0 - share) + new * share for old, new in given]
        assign([old for old, _ in given], values)

"""Loss functions: compositions, with PyTorch's names and reductions."""

from __future__ import annotations

from vkml_core.dtypes import INTS, int64
from vkml_core.errors import ArgumentError, DTypeError, ShapeError
from vkml_core.functional.common import (
    bool_arg,
    choice_arg,
    float_arg,
    number_arg,
    same_device,
    tensor_arg,
    wrap,
)
from vkml_core.functional.elementwise import call, where
from vkml_core.functional.indexing import gather
from vkml_core.functional.normal import log_softmax
from vkml_core.functional.reduce import mean, sum
from vkml_core.graph import build
from vkml_core.ops.rules import cast
from vkml_core.public import public
from vkml_core.shapes import to_int
from vkml_core.tensor import Tensor

REDUCTIONS = ("mean", "sum", "none")


def _reduced(op: str, loss: Tensor, reduction: str) -> Tensor:
    how = choice_arg(reduction, f"{op}: reduction", REDUCTIONS)
    return {"mean": mean, "sum": sum}[how](loss) if how != "none" else loss


def _pair(op: str, input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    x, y = float_arg(input, f"{op}: input"), float_arg(target, f"{op}: target")
    same_device(op, x, y)
    if x.shape != y.shape:
        raise ShapeError(f"{op}: input has shape {x.shape}, target {y.shape}; they must be equal")
    return x, y


@public(method=False)
def mse_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """(x − y)²."""
    x, y = _pair("mse_loss", input, target)
    return _reduced("mse_loss", call("square", x - y), reduction)


@public(method=False)
def l1_loss(input: Tensor, target: Tensor, reduction: str = "mean") -> Tensor:
    """|x − y|."""
    x, y = _pair("l1_loss", input, target)
    return _reduced("l1_loss", call("abs", x - y), reduction)


@public(method=False)
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0
) -> Tensor:
    """½ d² where d = |x − y| ≤ delta, else delta · (d − ½ delta); Huber (1964)."""
    x, y = _pair("huber_loss", input, target)
    bend = number_arg(delta, "huber_loss: delta")
    if not bend > 0:
        raise ArgumentError(f"huber_loss: delta must be > 0, got {bend}")
    e = x - y
    d = call("abs", e)
    loss = where(d <= bend, e * e * 0.5, (d - 0.5 * bend) * bend)
    return _reduced("huber_loss", loss, reduction)


@public(method=False)
def kl_div(
    input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """target · (ln target − input), 0 where target is 0; `input` holds logarithms.

    With `log_target`, `target` holds logarithms too.
    """
    x, y = _pair("kl_div", input, target)
    if bool_arg(log_target, "kl_div: log_target"):
        loss = call("exp", y) * (y - x)
    else:
        some = y > 0.0
        loss = where(some, y * (call("log", where(some, y, 1.0)) - x), y * -x)
    return _reduced("kl_div", loss, reduction)


@public(method=False)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """−y ln σ(x) − (1 − y) ln(1 − σ(x)), as max(x, 0) − x·y + ln(1 + e^−|x|)."""
    op = "binary_cross_entropy_with_logits"
    x, y = _pair(op, input, target)
    # At x = 0 all branches are those of x ≥ 0, so that their derivatives add up to σ(0).
    tail = call("log1p", call("exp", where(x >= 0.0, -x, x)))
    if pos_weight is None:
        loss = call("maximum", x, 0.0) - x * y + tail
    else:
        heavy = (float_arg(pos_weight, f"{op}: pos_weight") - 1.0) * y + 1.0
        loss = (1.0 - y) * x + heavy * (tail + call("maximum", 0.0, -x))
    if weight is not None:
        loss = loss * float_arg(weight, f"{op}: weight")
    return _reduced(op, loss, reduction)


@public(method=False)
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
) -> Tensor:
    """−input[label] for log-probabilities (N, C, …) or (C,) and labels (N, …) or ().

    The mean is over the weights of the labels that count. A label outside 0 … C − 1 other than
    `ignore_index` is an IndexError when the loss is computed.
    """
    return _nll("nll_loss", input, target, weight, ignore_index, reduction)[0]


def _labels(op: str, x: Tensor, target: Tensor) -> tuple[Tensor, int]:
    labels = tensor_arg(target, f"{op}: target")
    if labels.dtype not in INTS:
        raise DTypeError(
            f"{op}: labels are {labels.dtype.name}, expected int64; use .to(vkml.int64)"
        )
    same_device(op, x, labels)
    if x.ndim == 0:
        raise ShapeError(f"{op}: input has rank 0, expected (C,) or (N, C, …)")
    axis = 0 if x.ndim == 1 else 1
    if labels.shape != x.shape[:axis] + x.shape[axis + 1 :]:
        raise ShapeError(
            f"{op}: input {x.shape} needs labels of shape "
            f"{x.shape[:axis] + x.shape[axis + 1 :]}, got {labels.shape}"
        )
    return wrap(cast(labels.node, int64)), axis


def _nll(
    op: str, input: Tensor, target: Tensor, weight: Tensor | None, ignore: int, reduction: str
) -> tuple[Tensor, Tensor, Tensor, int]:
    """Give the loss, the weight of each label, the kept labels' mask and the class axis."""
    x = float_arg(input, f"{op}: input")
    labels, axis = _labels(op, x, target)
    how = choice_arg(reduction, f"{op}: reduction", REDUCTIONS)
    counts = labels != to_int(ignore, f"{op}: ignore_index")
    safe = where(counts, labels, 0)
    picked = gather(x, axis, safe.unsqueeze(axis)).squeeze(axis)
    weights = _label_weights(op, x, axis, weight, safe, counts)
    loss = where(counts, -picked * weights if weight is not None else -picked, 0.0)
    if how == "none":
        return loss, weights, counts, axis
    total = sum(loss)
    return (total / sum(weights) if how == "mean" else total), weights, counts, axis


def _label_weights(
    op: str, x: Tensor, axis: int, weight: Tensor | None, safe: Tensor, counts: Tensor
) -> Tensor:
    """Give the weight of each label, 0 for ignored ones."""
    if weight is None:
        return wrap(build.cast(counts.node, dtype=x.dtype))
    w = float_arg(weight, f"{op}: weight")
    if w.shape != (x.shape[axis],):
        raise ShapeError(f"{op}: weight has shape {w.shape}, expected {(x.shape[axis],)}")
    return where(counts, gather(w, 0, safe.reshape(-1)).reshape(safe.shape), 0.0)


@public(method=False)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """−ln softmax(input)[label] for logits (N, C, …) or (C,) and int64 labels (N, …) or ().

    `label_smoothing` ε mixes in ε of the mean over all classes; Szegedy et al. (2016).
    """
    op = "cross_entropy"
    x = float_arg(input, f"{op}: input")
    smooth = number_arg(label_smoothing, f"{op}: label_smoothing")
    if not 0.0 <= smooth <= 1.0:
        raise ArgumentError(f"{op}: label_smoothing must be from 0 to 1, got {smooth}")
    logs = log_softmax(x, 0 if x.ndim == 1 else 1) if x.ndim else x
    loss, weights, counts, axis = _nll(op, logs, target, weight, ignore_index, reduction)
    if smooth == 0.0:
        return loss
    spread = logs if weight is None else logs * _along(weight, axis, logs.ndim)
    even = where(counts, -sum(spread, axis), 0.0)
    if reduction != "none":
        even = sum(even)
    if reduction == "mean":
        even = even / sum(weights)
    return loss * (1.0 - smooth) + even * (smooth / x.shape[axis])


def _along(weight: Tensor, axis: int, rank: int) -> Tensor:
    return weight.reshape(tuple(-1 if i == axis else 1 for i in range(rank)))

"""Clipping of gradients, by their common norm or by value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Final

from vkml_core.dtypes import float32
from vkml_core.errors import ArgumentError, ArgumentTypeError, GradientError
from vkml_core.functional.common import bool_arg, number_arg, same_device, tensor_arg
from vkml_core.functional.creation import tensor
from vkml_core.functional.joining import stack
from vkml_core.graph import no_grad
from vkml_core.tensor import Tensor
from vkml_optim.checks import non_negative

NORMS: Final[dict[float, Callable[[Tensor], Tensor]]] = {
    2.0: lambda x: (x * x).sum().sqrt(),
    1.0: lambda x: x.abs().sum(),
    math.inf: lambda x: x.abs().amax(),
}
EPSILON: Final = 1e-6
"""Added to the norm before it divides, as in PyTorch."""


def clip_grad_norm_(
    parameters: Iterable[Tensor] | Tensor,
    max_norm: float,
    norm_type: float | str = 2.0,
    error_if_nonfinite: bool = False,
) -> Tensor:
    """Scale all gradients by min(1, max_norm / (norm + 1e-6)); give their norm from before.

    The norm is that of the norms of the gradients: of order 2, 1 or inf, of rank 0 and float32.
    Nothing is computed here, unless `error_if_nonfinite`: then the norm is read, and a
    GradientError says that it is not finite, before a gradient has been changed.
    """
    what = "clip_grad_norm_"
    params = _with_gradient(parameters, what)
    limit = non_negative(max_norm, f"{what}: max_norm")
    check = bool_arg(error_if_nonfinite, f"{what}: error_if_nonfinite")
    norm = _norm(norm_type, what)
    if not params:
        return tensor(0.0)
    with no_grad():
        total = _total([p.grad for p in params if p.grad is not None], norm, what)
        if check and not math.isfinite(total.item()):
            raise GradientError(f"{what}: the gradients have the norm {total.item()}")
        scale = (limit / (total + EPSILON)).clamp(max=1.0)
        _replace(params, lambda g: (g.to(float32) * scale).to(g.dtype))
    return total


def clip_grad_value_(parameters: Iterable[Tensor] | Tensor, clip_value: float) -> None:
    """Clamp every element of every gradient to [−clip_value, clip_value]; nothing is computed."""
    what = "clip_grad_value_"
    params = _with_gradient(parameters, what)
    limit = non_negative(clip_value, f"{what}: clip_value")
    with no_grad():
        _replace(params, lambda g: g.clamp(-limit, limit))


def _with_gradient(parameters: object, what: str) -> list[Tensor]:
    """List the parameters that have a gradient, each once."""
    given = (parameters,) if isinstance(parameters, Tensor) else parameters
    if not isinstance(given, Iterable):
        raise ArgumentTypeError(f"{what}: expected parameters, got {type(given).__name__}")
    found = [tensor_arg(p, f"{what}: parameter {i}") for i, p in enumerate(given)]
    return [p for p in {id(p): p for p in found}.values() if p.grad is not None]


def _norm(norm_type: float | str, what: str) -> Callable[[Tensor], Tensor]:
    order = math.inf if norm_type == "inf" else number_arg(norm_type, f"{what}: norm_type")
    if order not in NORMS:
        raise ArgumentError(f"{what}: norm_type: expected 2, 1 or inf, got {order}")
    return NORMS[order]


def _total(grads: list[Tensor], norm: Callable[[Tensor], Tensor], what: str) -> Tensor:
    """Give the norm of the gradients' norms, in float32 so that float16's do not overflow."""
    same_device(what, *grads)
    norms = [norm(g.to(float32)) for g in grads if g.size]
    return norm(stack(norms)) if norms else tensor(0.0, device=grads[0].device)


def _replace(params: list[Tensor], change: Callable[[Tensor], Tensor]) -> None:
    """Give every parameter its changed gradient, after all have been worked out."""
    changed = [change(p.grad) for p in params if p.grad is not None]
    for p, grad in zip(params, changed, strict=True):
        p.grad = grad

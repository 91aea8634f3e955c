"""Reductions over one, several or all dimensions, and scans along one."""

from __future__ import annotations

from collections.abc import Sequence

from vkml_core.dtypes import bool_, int64
from vkml_core.functional.common import (
    bool_arg,
    float_arg,
    keepdim_shape,
    number_arg,
    stop,
    tensor_arg,
    wrap,
)
from vkml_core.functional.elementwise import call, where
from vkml_core.graph import Node, build
from vkml_core.ops.rules import cast, reshape
from vkml_core.public import public
from vkml_core.shapes import check_axes, check_axis, size
from vkml_core.tensor import Tensor

Dims = int | Sequence[int] | None


def _reduce(op: str, input: Tensor, dim: Dims, keepdim: bool, node: Node | None = None) -> Tensor:
    x = tensor_arg(input, f"{op}: input")
    axes = check_axes(dim, x.ndim, op)
    shape = keepdim_shape(x, axes, bool_arg(keepdim, f"{op}: keepdim"))
    result = getattr(build, op)(x.node if node is None else node, axes=axes)
    return wrap(reshape(result, shape))


def _counted(input: Tensor, op: str) -> Node:
    """Bools and int32 are added up as int64, as in PyTorch."""
    x = tensor_arg(input, f"{op}: input")
    return x.node if x.dtype.is_floating_point else cast(x.node, int64)


@public()
def sum(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Sum in the contract's order; integers and bools give int64."""
    return _reduce("sum", input, dim, keepdim, _counted(input, "sum"))


@public()
def prod(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Product by the contract's tree; integers and bools give int64."""
    return _reduce("prod", input, dim, keepdim, _counted(input, "prod"))


@public()
def amax(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Largest element; NaN if one is NaN; every tied element takes the whole gradient."""
    return _reduce("amax", input, dim, keepdim)


@public()
def amin(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Smallest element; NaN if one is NaN; every tied element takes the whole gradient."""
    return _reduce("amin", input, dim, keepdim)


@public()
def mean(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Sum divided by the number of elements."""
    x = float_arg(input, "mean: input")
    n = size(x.shape[a] for a in check_axes(dim, x.ndim, "mean"))
    return call("div", sum(x, dim, keepdim), float(n))


@public()
def var(input: Tensor, dim: Dims = None, correction: float = 1, keepdim: bool = False) -> Tensor:
    """Sum of squared deviations from the mean, divided by max(0, n − correction)."""
    x = float_arg(input, "var: input")
    n = size(x.shape[a] for a in check_axes(dim, x.ndim, "var"))
    deviation = x - mean(x, dim, True)
    rest = max(0.0, n - number_arg(correction, "var: correction"))
    return call("div", sum(deviation * deviation, dim, keepdim), rest)


@public()
def std(input: Tensor, dim: Dims = None, correction: float = 1, keepdim: bool = False) -> Tensor:
    """Square root of `var`; where the variance is 0 its gradient is 0."""
    variance = var(input, dim, correction, keepdim)
    flat = variance == 0.0
    return where(flat, 0.0, call("sqrt", where(flat, 1.0, variance)))


@public()
def all(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether every element is non-zero; true for none."""
    x = tensor_arg(input, "all: input")
    zeros = call("equal", x, 0)
    return call("equal", sum(zeros, dim, keepdim), 0)


@public()
def any(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """Whether an element is non-zero; false for none."""
    x = tensor_arg(input, "any: input")
    others = call("not_equal", x, 0)
    return call("not_equal", sum(others, dim, keepdim), 0)


@public()
def logsumexp(input: Tensor, dim: Dims = None, keepdim: bool = False) -> Tensor:
    """ln Σ eˣ, computed as m + ln Σ e^(x − m) with m the largest element."""
    x = float_arg(input, "logsumexp: input")
    top = stop(amax(x, dim, True))
    top = where(call("isinf", top), 0.0, top)
    total = call("log", sum(call("exp", x - top), dim, True)) + top
    keepdim = bool_arg(keepdim, "logsumexp: keepdim")
    axes = check_axes(dim, x.ndim, "logsumexp")
    return wrap(reshape(total.node, keepdim_shape(x, axes, keepdim)))


def _arg_extreme(op: str, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    x = tensor_arg(input, f"{op}: input")
    node = cast(x.node, int64) if x.dtype is bool_ else x.node
    if dim is None:
        flat = getattr(build, op)(reshape(node, (x.size,)), axis=0)
        return wrap(reshape(flat, (1,) * x.ndim if keepdim else ()))
    axis = check_axis(dim, max(x.ndim, 1), op)
    if x.ndim == 0:
        return wrap(reshape(getattr(build, op)(reshape(node, (1,)), axis=0), ()))
    result = getattr(build, op)(node, axis=axis)
    return wrap(reshape(result, keepdim_shape(x, (axis,), bool_arg(keepdim, f"{op}: keepdim"))))


@public()
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index (int64) of the first largest element, in the flattened tensor if dim is None."""
    return _arg_extreme("argmax", input, dim, keepdim)


@public()
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """Index (int64) of the first smallest element, in the flattened tensor if dim is None."""
    return _arg_extreme("argmin", input, dim, keepdim)


@public()
def cumsum(input: Tensor, dim: int) -> Tensor:
    """Running sum along `dim`; integers and bools give int64."""
    x = tensor_arg(input, "cumsum: input")
    if x.ndim == 0:
        check_axis(dim, 1, "cumsum")
        return wrap(_counted(x, "cumsum"))
    axis = check_axis(dim, x.ndim, "cumsum")
    return wrap(build.cumsum(_counted(x, "cumsum"), axis=axis))

"""Functions that change shape, order or place of elements, not their values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkml_core.dtypes import int64
from vkml_core.errors import ArgumentError, ShapeError
from vkml_core.functional.common import (
    pair_arg,
    shape_args,
    tensor_arg,
    wrap,
)
from vkml_core.functional.elementwise import call, where
from vkml_core.graph import build, full
from vkml_core.ops import rules
from vkml_core.ops.rules import expand
from vkml_core.public import public
from vkml_core.shapes import (
    check_axes,
    check_axis,
    check_shape,
    infer_reshape,
    size,
    to_int,
)
from vkml_core.tensor import Tensor


@public()
def reshape(input: Tensor, *shape: Any) -> Tensor:
    """Give the same elements in another shape; one size may be −1."""
    x = tensor_arg(input, "reshape: input")
    return wrap(rules.reshape(x.node, infer_reshape(x.shape, shape_args("reshape", shape))))


@public()
def view(input: Tensor, *shape: Any) -> Tensor:
    """Like `reshape`: what needs a copy is copied."""
    return reshape(input, *shape)


@public()
def permute(input: Tensor, *dims: Any) -> Tensor:
    """Give the dimensions in another order."""
    x = tensor_arg(input, "permute: input")
    given = shape_args("permute", dims)
    axes = tuple(check_axis(d, x.ndim, "permute") for d in given)
    if sorted(axes) != list(range(x.ndim)):
        raise ShapeError(
            f"permute: dims {given} do not name each of the {x.ndim} of shape {x.shape}"
        )
    return wrap(rules.permute(x.node, axes))


@public()
def transpose(input: Tensor, dim0: int, dim1: int) -> Tensor:
    """Swap two dimensions."""
    x = tensor_arg(input, "transpose: input")
    a, b = (check_axis(d, x.ndim, "transpose") for d in (dim0, dim1))
    axes = list(range(x.ndim))
    axes[a], axes[b] = axes[b], axes[a]
    return wrap(rules.permute(x.node, axes))


@public()
def squeeze(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """Drop dimensions of size 1: all of them, or those named."""
    x = tensor_arg(input, "squeeze: input")
    axes = check_axes(dim, x.ndim, "squeeze")
    shape = tuple(d for i, d in enumerate(x.shape) if d != 1 or i not in axes)
    return wrap(rules.reshape(x.node, shape))


@public()
def unsqueeze(input: Tensor, dim: int) -> Tensor:
    """Put in a dimension of size 1."""
    x = tensor_arg(input, "unsqueeze: input")
    axis = check_axis(dim, x.ndim + 1, "unsqueeze")
    shape = check_shape((*x.shape[:axis], 1, *x.shape[axis:]), "unsqueeze")
    return wrap(rules.reshape(x.node, shape))


@public()
def broadcast_to(input: Tensor, *shape: Any) -> Tensor:
    """Repeat dimensions of size 1 (and new leading ones) without copying."""
    x = tensor_arg(input, "broadcast_to: input")
    return wrap(expand(x.node, check_shape(shape_args("broadcast_to", shape), "broadcast_to")))


@public(name="expand")
def expand_(input: Tensor, *shape: Any) -> Tensor:
    """Like `broadcast_to`; −1 keeps a dimension's size."""
    x = tensor_arg(input, "expand: input")
    sizes = shape_args("expand", shape)
    lead = len(sizes) - x.ndim
    if lead < 0:
        raise ShapeError(f"expand: shape {sizes} has fewer dimensions than {x.shape}")
    if any(d == -1 for d in sizes[:lead]):
        raise ShapeError(f"expand: a new leading dimension of {sizes} cannot be -1")
    kept = tuple(x.shape[i - lead] if d == -1 else d for i, d in enumerate(sizes))
    return wrap(expand(x.node, check_shape(kept, "expand")))


@public()
def flatten(input: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    """Merge the dimensions from `start_dim` to `end_dim` into one."""
    x = tensor_arg(input, "flatten: input")
    if x.ndim == 0:
        return reshape(x, (1,))
    first, last = (check_axis(d, x.ndim, "flatten") for d in (start_dim, end_dim))
    if first > last:
        raise ArgumentError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
    merged = size(x.shape[first : last + 1])
    return reshape(x, (*x.shape[:first], merged, *x.shape[last + 1 :]))


@public()
def contiguous(input: Tensor) -> Tensor:
    """Give the tensor itself, or a copy in row-major order."""
    x = tensor_arg(input, "contiguous: input")
    return x if x.is_contiguous else wrap(build.contiguous(x.node))


@public()
def flip(input: Tensor, dims: int | Sequence[int]) -> Tensor:
    """Reverse the order along `dims`."""
    x = tensor_arg(input, "flip: input")
    return wrap(rules.flip(x.node, check_axes(dims, x.ndim, "flip")))


@public()
def tril(input: Tensor, diagonal: int = 0) -> Tensor:
    """Keep what is on or below a diagonal of the last two dimensions, 0 elsewhere."""
    return _triangle("tril", input, diagonal, "less_equal")


@public()
def triu(input: Tensor, diagonal: int = 0) -> Tensor:
    """Keep what is on or above a diagonal of the last two dimensions, 0 elsewhere."""
    return _triangle("triu", input, diagonal, "greater_equal")


def _triangle(op: str, input: Tensor, diagonal: int, keep: str) -> Tensor:
    x = tensor_arg(input, f"{op}: input")
    if x.ndim < 2:
        raise ShapeError(f"{op}: expected rank ≥ 2, got shape {x.shape}")
    rows, cols = x.shape[-2:]
    column = count(cols, 0, x.node.device).reshape(1, cols)
    row = count(rows, to_int(diagonal, f"{op}: diagonal"), x.node.device).reshape(rows, 1)
    return where(call(keep, column, row), x, zero_like(x))


def zero_like(x: Tensor) -> Tensor:
    """Give a scalar 0 of x's dtype and device."""
    return wrap(full((), 0, x.dtype, x.node.device))


def count(length: int, start: int, device: str, step: int = 1) -> Tensor:
    """Give start, start + step, … as int64."""
    numbers = (full((), v, int64, device) for v in (start, step))
    return wrap(build.arange(*numbers, length=length))


@public()
def im2col(
    input: Tensor, kernel: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1
) -> Tensor:
    """Give the windows of (N, C, H, W) as columns (N, C·kh·kw, positions)."""
    return wrap(
        build.im2col(
            tensor_arg(input, "im2col: input").node,
            **window_args("im2col", kernel, stride, padding, dilation),
        )
    )


@public()
def col2im(
    input: Tensor, image: Any, kernel: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1
) -> Tensor:
    """Add columns (N, C·kh·kw, positions) back into images (N, C, H, W) of size `image`."""
    window = window_args("col2im", kernel, stride, padding, dilation)
    x = tensor_arg(input, "col2im: input")
    return wrap(build.col2im(x.node, image=pair_arg(image, "col2im: image"), **window))


def window_args(op: str, kernel: Any, stride: Any, padding: Any, dilation: Any) -> dict[str, Any]:
    """Check the geometry of a sliding window; no stride means the kernel's size."""
    size = pair_arg(kernel, f"{op}: kernel")
    return {
        "kernel": size,
        "stride": size if stride is None else pair_arg(stride, f"{op}: stride"),
        "padding": pair_arg(padding, f"{op}: padding"),
        "dilation": pair_arg(dilation, f"{op}: dilation"),
    }

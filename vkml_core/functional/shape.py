"""Functions that change shape, order or place of elements, not their values."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

from vkml_core.dtypes import Scalar, int64, promote
from vkml_core.errors import ArgumentError, ArgumentTypeError, ShapeError
from vkml_core.functional.common import (
    choice_arg,
    pair_arg,
    same_device,
    scalar_arg,
    shape_args,
    tensor_arg,
    wrap,
)
from vkml_core.functional.elementwise import call, where
from vkml_core.graph import Node, build, full
from vkml_core.ops import rules
from vkml_core.ops.rules import cast, expand, slice_axis
from vkml_core.public import public
from vkml_core.shapes import (
    check_axes,
    check_axis,
    check_shape,
    infer_reshape,
    size,
    to_int,
    to_ints,
)
from vkml_core.tensor import Tensor

MAX_CHUNKS: Final = 2**16


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
def repeat(input: Tensor, *sizes: Any) -> Tensor:
    """Put copies next to each other, sizes[i] times along dimension i."""
    x = tensor_arg(input, "repeat: input")
    times = check_shape(shape_args("repeat", sizes), "repeat")
    if len(times) < x.ndim:
        raise ShapeError(f"repeat: {times} has fewer entries than shape {x.shape}")
    node = rules.reshape(x.node, (1,) * (len(times) - x.ndim) + x.shape)
    for axis, n in enumerate(times):
        shape = node.shape
        outer, rest = size(shape[:axis]), size(shape[axis:])
        copies = expand(rules.reshape(node, (outer, 1, rest)), (outer, n, rest))
        node = rules.reshape(copies, (*shape[:axis], n * shape[axis], *shape[axis + 1 :]))
    return wrap(node)


@public(method=False)
def cat(tensors: Sequence[Tensor], axis: int = 0) -> Tensor:
    """Put tensors one after another along a dimension; dtypes are promoted."""
    nodes = _promoted("cat", tensors)
    rank = len(nodes[0].shape)
    if rank == 0:
        raise ShapeError("cat: rank-0 tensors cannot be joined; use stack")
    return wrap(build.cat(*nodes, axis=check_axis(axis, rank, "cat")))


@public(method=False)
def stack(tensors: Sequence[Tensor], dim: int = 0) -> Tensor:
    """Put tensors of one shape one after another along a new dimension."""
    nodes = _promoted("stack", tensors)
    shape = nodes[0].shape
    for i, n in enumerate(nodes):
        if n.shape != shape:
            raise ShapeError(f"stack: tensor {i} has shape {n.shape}, tensor 0 {shape}")
    axis = check_axis(dim, len(shape) + 1, "stack")
    wide = check_shape((*shape[:axis], 1, *shape[axis:]), "stack")
    return wrap(build.cat(*(rules.reshape(n, wide) for n in nodes), axis=axis))


def _promoted(op: str, tensors: Sequence[Tensor]) -> list[Node]:
    if isinstance(tensors, Tensor | str) or not isinstance(tensors, Sequence):
        raise ArgumentTypeError(f"{op}: expected a list of tensors, got {type(tensors).__name__}")
    given = [tensor_arg(t, f"{op}: tensor {i}") for i, t in enumerate(tensors)]
    if not given:
        raise ArgumentError(f"{op}: expected at least one tensor")
    same_device(op, *given)
    dtype = given[0].dtype
    for t in given[1:]:
        dtype = promote(dtype, t.dtype)
    return [cast(t.node, dtype) for t in given]


@public()
def split(
    input: Tensor, split_size_or_sections: int | Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """Cut along `dim` into pieces of one size (the last may be smaller) or of given sizes."""
    x = tensor_arg(input, "split: input")
    axis = check_axis(dim, x.ndim, "split")
    n, given = x.shape[axis], to_ints(split_size_or_sections, "split: size")
    if hasattr(split_size_or_sections, "__index__"):
        if given[0] < 1:
            raise ArgumentError(f"split: size must be ≥ 1, got {given[0]}")
        given = tuple(min(given[0], n - i) for i in range(0, max(n, 1), given[0]))
    starts = list(itertools.accumulate(given, initial=0))
    if min(given, default=0) < 0 or starts[-1] != n:
        raise ShapeError(f"split: sizes {given} do not add up to {n}, the size of dim {dim}")
    return tuple(
        wrap(slice_axis(x.node, axis, start, length))
        for start, length in zip(starts, given, strict=False)
    )


@public()
def chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """Cut along `dim` into at most `chunks` pieces of equal size (the last may be smaller).

    An empty dimension gives that many empty pieces.
    """
    x = tensor_arg(input, "chunk: input")
    n = to_int(chunks, "chunk: chunks")
    if not 1 <= n <= MAX_CHUNKS:
        raise ArgumentError(f"chunk: chunks must be ≥ 1 and ≤ {MAX_CHUNKS}, got {n}")
    have = x.shape[check_axis(dim, x.ndim, "chunk")]
    return split(x, -(-have // n) if have else (0,) * n, dim)


@public()
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: Scalar = 0.0) -> Tensor:
    """Put `value` around: `pad` gives (before, after) for the last dimension, then the one before
    it, and so on; negative sizes cut.
    """
    x = tensor_arg(input, "pad: input")
    sizes = to_ints(pad, "pad: pad")
    choice_arg(mode, "pad: mode", ("constant",))
    if len(sizes) % 2 or len(sizes) > 2 * x.ndim:
        raise ShapeError(f"pad: expected up to {x.ndim} pairs for shape {x.shape}, got {sizes}")
    low, high = [0] * x.ndim, [0] * x.ndim
    for i in range(len(sizes) // 2):
        low[x.ndim - 1 - i], high[x.ndim - 1 - i] = sizes[2 * i], sizes[2 * i + 1]
    return wrap(_pad_node(x, low, high, scalar_arg(value, "pad: value")))


def _pad_node(x: Tensor, low: Sequence[int], high: Sequence[int], value: Scalar) -> Node:
    node = x.node
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        cut = max(0, -before), max(0, -after)
        left = node.shape[axis] - cut[0] - cut[1]
        if left < 0:
            raise ShapeError(f"pad: dim {axis} of shape {x.shape} is cut below zero")
        if any(cut):
            node = slice_axis(node, axis, cut[0], left)
    grow = [tuple(max(0, v) for v in side) for side in (low, high)]
    none = (0,) * x.ndim
    return rules.pad(node, value, low=grow[0], high=grow[1], interior=none)


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
    column = count(cols, 0, x.device).reshape(1, cols)
    row = count(rows, to_int(diagonal, f"{op}: diagonal"), x.device).reshape(rows, 1)
    return where(call(keep, column, row), x, zero_like(x))


def zero_like(x: Tensor) -> Tensor:
    """Give a scalar 0 of x's dtype and device."""
    return wrap(full((), 0, x.dtype, x.device))


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

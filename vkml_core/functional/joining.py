"""Functions that join, repeat, cut and pad tensors."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

from vkml_core.dtypes import Scalar, promote
from vkml_core.errors import ArgumentError, ArgumentTypeError, ShapeError
from vkml_core.functional.common import (
    choice_arg,
    same_device,
    scalar_arg,
    shape_args,
    tensor_arg,
    wrap,
)
from vkml_core.graph import Node, build
from vkml_core.ops import rules
from vkml_core.ops.rules import cast, expand, slice_axis
from vkml_core.public import public
from vkml_core.shapes import check_axis, check_shape, size, to_int, to_ints
from vkml_core.tensor import Tensor

MAX_CHUNKS: Final = 2**16


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

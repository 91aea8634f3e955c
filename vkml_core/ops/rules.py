"""Shared inference and gradient helpers of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vkml_core.dtypes import DType, Scalar, bool_
from vkml_core.errors import DTypeError, ShapeError
from vkml_core.graph import Node, build, const, full
from vkml_core.ops.spec import Typed, Vjp
from vkml_core.shapes import Shape, keep_shape

Rule = Callable[[Node, Node], Node]


def each(*rules: Rule) -> Vjp:
    """Make a vjp from one rule for each input: (output node, its gradient) → gradient."""
    return lambda node, g, i: rules[i](node, g)


def infer_same(inputs: Sequence[Node], attrs: Any) -> Typed:
    """All inputs have one shape and dtype, and so has the result."""
    first = inputs[0]
    for other in inputs[1:]:
        check_equal(first, other)
    return first.shape, first.dtype


def infer_bool(inputs: Sequence[Node], attrs: Any) -> Typed:
    """All inputs have one shape and dtype; the result is bool."""
    return infer_same(inputs, attrs)[0], bool_


def check_equal(a: Node, b: Node) -> None:
    """Raise unless two inputs have one shape and one dtype."""
    if a.shape != b.shape:
        raise ShapeError(f"inputs have shapes {a.shape} and {b.shape}; a row takes equal shapes")
    if a.dtype is not b.dtype:
        raise DTypeError(
            f"inputs are {a.dtype.name} and {b.dtype.name}; a row takes equal dtypes, "
            "convert one with .to(dtype)"
        )


def spread(g: Node, like: Node, axes: Sequence[int]) -> Node:
    """Undo the dropping of `axes`: broadcast a reduced tensor back over `like`'s shape."""
    return expand(reshape(g, keep_shape(like.shape, axes)), like.shape)


def mask(condition: Node, value: Node) -> Node:
    """Keep `value` where `condition` holds, +0 elsewhere."""
    return build.where(condition, value, const(value, 0))


def reshape(x: Node, shape: Shape) -> Node:
    """Give the same elements another shape; nothing is recorded when it is the same."""
    return x if x.shape == shape else build.reshape(x, shape=shape)


def expand(x: Node, shape: Shape) -> Node:
    """Broadcast to `shape`; nothing is recorded when it is the same."""
    return x if x.shape == shape else build.expand(x, shape=shape)


def permute(x: Node, axes: Sequence[int]) -> Node:
    """Reorder the axes; nothing is recorded for the identity."""
    return x if list(axes) == sorted(axes) else build.permute(x, axes=tuple(axes))


def transpose(x: Node) -> Node:
    """Swap the last two axes."""
    rank = len(x.shape)
    return build.permute(x, axes=(*range(rank - 2), rank - 1, rank - 2))


def sum_(x: Node, axes: Sequence[int]) -> Node:
    """Sum over `axes`; nothing is recorded when there is none."""
    return build.sum(x, axes=tuple(axes)) if axes else x


def cast(x: Node, dtype: DType) -> Node:
    """Convert to `dtype`; nothing is recorded when it is the same."""
    return x if x.dtype is dtype else build.cast(x, dtype=dtype)


def slice_axis(x: Node, axis: int, start: int, length: int, step: int = 1) -> Node:
    """Take `length` elements from `start` by `step` along one axis."""
    rank = len(x.shape)
    starts, steps, lengths = [0] * rank, [1] * rank, list(x.shape)
    starts[axis], steps[axis], lengths[axis] = start, step, length
    return build.slice(x, start=tuple(starts), length=tuple(lengths), step=tuple(steps))


def pad(x: Node, value: Scalar, *, low: Shape, high: Shape, interior: Shape) -> Node:
    """Put elements of `value` before, after and between; nothing is recorded for no padding."""
    if not any((*low, *high, *interior)):
        return x
    fill = full((), value, x.dtype, x.device)
    return build.pad(x, fill, low=low, high=high, interior=interior)


def flip(x: Node, axes: Sequence[int]) -> Node:
    """Reverse the order along `axes`."""
    turned = {a for a in axes if x.shape[a] > 1}
    if not turned:
        return x
    start = tuple(d - 1 if i in turned else 0 for i, d in enumerate(x.shape))
    step = tuple(-1 if i in turned else 1 for i in range(len(x.shape)))
    return build.slice(x, start=start, length=x.shape, step=step)

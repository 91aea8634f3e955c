"""Rows that move elements without changing them: leaves, views, copies, assignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkml_core.dtypes import ALL, DType
from vkml_core.errors import DTypeError, ShapeError
from vkml_core.graph import Node
from vkml_core.ops.gradients import (
    cat_gradient,
    expand_gradient,
    pad_gradient,
    pad_value_gradient,
    slice_gradient,
)
from vkml_core.ops.reduce import Axis
from vkml_core.ops.rules import each, infer_same, permute, reshape
from vkml_core.ops.spec import (
    Form,
    Infer,
    Kind,
    NotDifferentiable,
    OpSpec,
    Typed,
    ViewRule,
    Vjp,
    attributes,
    register,
)
from vkml_core.shapes import Shape, broadcast, check_shape, infer_reshape


@attributes
class NewShape:
    """The shape to give."""

    shape: Shape


@attributes
class Permutation:
    """Every axis once, in the new order."""

    axes: tuple[int, ...]


@attributes
class Slice:
    """First element, number of elements and step (≠ 0) along each axis."""

    start: tuple[int, ...]
    length: Shape
    step: tuple[int, ...]


@attributes
class Pad:
    """How many elements to put before, after and between along each axis, all ≥ 0."""

    low: Shape
    high: Shape
    interior: Shape


def _infer_reshape(inputs: Sequence[Node], attrs: NewShape) -> Typed:
    return infer_reshape(inputs[0].shape, attrs.shape), inputs[0].dtype


def _infer_permute(inputs: Sequence[Node], attrs: Permutation) -> Typed:
    old = inputs[0].shape
    if sorted(attrs.axes) != list(range(len(old))):
        raise ShapeError(
            f"permute: dims {attrs.axes} are not a permutation of the {len(old)} of shape {old}"
        )
    return tuple(old[a] for a in attrs.axes), inputs[0].dtype


def _infer_expand(inputs: Sequence[Node], attrs: NewShape) -> Typed:
    old, new = inputs[0].shape, check_shape(attrs.shape, "expand")
    if len(new) < len(old) or broadcast("expand", old, new) != new:
        raise ShapeError(f"expand: shape {old} does not broadcast to {new}")
    return new, inputs[0].dtype


def _infer_slice(inputs: Sequence[Node], attrs: Slice) -> Typed:
    old = inputs[0].shape
    for d, start, n, step in zip(old, attrs.start, attrs.length, attrs.step, strict=True):
        last = start + (n - 1) * step
        if n < 0 or step == 0 or (n and not (0 <= start < d and 0 <= last < d)):
            raise ShapeError(f"slice: {attrs} is outside shape {old}")
    return attrs.length, inputs[0].dtype


def _infer_pad(inputs: Sequence[Node], attrs: Pad) -> Typed:
    (old, dtype), value = (inputs[0].shape, inputs[0].dtype), inputs[1]
    if value.shape != () or value.dtype is not dtype:
        raise ShapeError(f"pad: the value is one {dtype.name}, got {value.dtype.name}{value.shape}")
    if any(v < 0 for v in (*attrs.low, *attrs.high, *attrs.interior)):
        raise ShapeError(f"pad: sizes must be ≥ 0, got {attrs}")
    dims = zip(old, attrs.low, attrs.high, attrs.interior, strict=True)
    new = tuple(lo + d + max(d - 1, 0) * i + hi for d, lo, hi, i in dims)
    return check_shape(new, "pad"), dtype


def _infer_cat(inputs: Sequence[Node], attrs: Axis) -> Typed:
    first, axis = inputs[0], attrs.axis
    for i, other in enumerate(inputs):
        if other.dtype is not first.dtype:
            raise DTypeError(f"cat: input {i} is {other.dtype.name}, input 0 {first.dtype.name}")
        fits = len(other.shape) == len(first.shape) and all(
            d == e or k == axis
            for k, (d, e) in enumerate(zip(first.shape, other.shape, strict=True))
        )
        if not fits:
            raise ShapeError(
                f"cat: input {i} has shape {other.shape}, input 0 {first.shape}; "
                f"all sizes but that of dim {axis} must be equal"
            )
    total = sum(x.shape[axis] for x in inputs)
    new = tuple(total if k == axis else d for k, d in enumerate(first.shape))
    return check_shape(new, "cat"), first.dtype


def _infer_leaf(inputs: Sequence[Node], attrs: Any) -> tuple[Shape, DType]:
    raise ShapeError("a leaf is made by graph.data or graph.full, which know its shape and dtype")


def _inverse(axes: Sequence[int]) -> list[int]:
    return [axes.index(a) for a in range(len(axes))]


def _view(name: str, doc: str, infer: Infer, attrs: Any, vjp: Vjp, view: ViewRule) -> None:
    register(OpSpec(name, Kind.VIEW, Form.EXACT, 1, ALL, infer, vjp, doc, attrs, view))


IS_LEAF = NotDifferentiable("it is a leaf: gradients end there")
register(
    OpSpec(
        "data", Kind.LEAF, Form.EXACT, 0, ALL, _infer_leaf, IS_LEAF, "A buffer given from outside."
    )
)
register(
    OpSpec("full", Kind.LEAF, Form.EXACT, 0, ALL, _infer_leaf, IS_LEAF, "One number everywhere.")
)

_view(
    "reshape",
    "The same elements in another shape.",
    _infer_reshape,
    NewShape,
    each(lambda n, g: reshape(g, n.inputs[0].shape)),
    lambda view, attrs: view.reshape(attrs.shape),
)
_view(
    "permute",
    "The axes in another order.",
    _infer_permute,
    Permutation,
    each(lambda n, g: permute(g, _inverse(n.attrs.axes))),
    lambda view, attrs: view.permute(attrs.axes),
)
_view(
    "expand",
    "Broadcast to a shape.",
    _infer_expand,
    NewShape,
    each(expand_gradient),
    lambda view, attrs: view.expand(attrs.shape),
)
_view(
    "slice",
    "Every step-th element along each axis.",
    _infer_slice,
    Slice,
    each(slice_gradient),
    lambda view, attrs: view.slice(attrs.start, attrs.length, attrs.step),
)
register(
    OpSpec(
        "detach",
        Kind.VIEW,
        Form.EXACT,
        1,
        ALL,
        infer_same,
        NotDifferentiable("detach ends the gradient, that is what it is for"),
        "The same values without their history.",
        None,
        lambda view, attrs: view,
    )
)

register(
    OpSpec(
        "contiguous",
        Kind.MOVE,
        Form.EXACT,
        1,
        ALL,
        infer_same,
        each(lambda n, g: g),
        "A copy in row-major order.",
    )
)
register(
    OpSpec(
        "cat",
        Kind.MOVE,
        Form.EXACT,
        None,
        ALL,
        _infer_cat,
        cat_gradient,
        "Tensors one after another along an axis.",
        Axis,
    )
)
register(
    OpSpec(
        "pad",
        Kind.MOVE,
        Form.EXACT,
        2,
        ALL,
        _infer_pad,
        each(pad_gradient, pad_value_gradient),
        "Elements of one value (the second input) before, after and between.",
        Pad,
    )
)
register(
    OpSpec(
        "assign",
        Kind.ASSIGN,
        Form.EXACT,
        2,
        ALL,
        infer_same,
        NotDifferentiable("an assignment starts a new history"),
        "The second input's value, to be kept in the first one's place.",
    )
)

"""Rows of the reductions and scans; reduced axes are dropped from the shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkml_core.dtypes import ALL, NUMBERS, int64
from vkml_core.errors import ShapeError
from vkml_core.graph import Node, build
from vkml_core.ops.gradients import prod_gradient
from vkml_core.ops.rules import each, flip, mask, spread
from vkml_core.ops.spec import (
    Form,
    Infer,
    Kind,
    NotDifferentiable,
    OpSpec,
    Typed,
    attributes,
    register,
)
from vkml_core.shapes import reduce_shape


@attributes
class Axes:
    """Sorted axes ≥ 0 to reduce."""

    axes: tuple[int, ...]


@attributes
class Axis:
    """One axis ≥ 0."""

    axis: int


@attributes
class Sort:
    """One axis ≥ 0 and the direction."""

    axis: int
    descending: bool


def _infer_axes(inputs: Sequence[Node], attrs: Axes) -> Typed:
    return reduce_shape(inputs[0].shape, attrs.axes), inputs[0].dtype


def _infer_extreme(name: str) -> Infer:
    def infer(inputs: Sequence[Node], attrs: Axes | Axis) -> Typed:
        x = inputs[0]
        axes = attrs.axes if isinstance(attrs, Axes) else (attrs.axis,)
        if any(x.shape[a] == 0 for a in axes):
            raise ShapeError(f"{name}: shape {x.shape} has no element along dim {axes}")
        return reduce_shape(x.shape, axes), x.dtype if isinstance(attrs, Axes) else int64

    return infer


def _infer_scan(inputs: Sequence[Node], attrs: Any) -> Typed:
    return inputs[0].shape, inputs[0].dtype


def _extreme_gradient(node: Node, g: Node) -> Node:
    """Every element equal to the extreme takes the whole gradient."""
    x, axes = node.inputs[0], node.attrs.axes
    return mask(build.equal(x, spread(node, x, axes)), spread(g, x, axes))


def _cumsum_gradient(node: Node, g: Node) -> Node:
    axis = (node.attrs.axis,)
    return flip(build.cumsum(flip(g, axis), axis=node.attrs.axis), axis)


register(
    OpSpec(
        "sum",
        Kind.REDUCE,
        Form.SUM,
        1,
        NUMBERS,
        _infer_axes,
        each(lambda n, g: spread(g, n.inputs[0], n.attrs.axes)),
        "Sum over axes.",
        Axes,
    )
)
register(
    OpSpec(
        "prod",
        Kind.REDUCE,
        Form.PROD,
        1,
        NUMBERS,
        _infer_axes,
        each(prod_gradient),
        "Product over axes.",
        Axes,
    )
)
for _name, _doc in {
    "amax": "Largest over axes; NaN if one is NaN; every tied element takes the gradient.",
    "amin": "Smallest over axes; NaN if one is NaN; every tied element takes the gradient.",
}.items():
    _vjp = each(_extreme_gradient)
    register(
        OpSpec(_name, Kind.REDUCE, Form.SELECT, 1, ALL, _infer_extreme(_name), _vjp, _doc, Axes)
    )

IS_INDEX = NotDifferentiable("its result is an index")
for _name, _doc in {
    "argmax": "Index of the first largest along an axis; NaN is the largest.",
    "argmin": "Index of the first smallest along an axis; NaN is the smallest.",
}.items():
    register(
        OpSpec(
            _name, Kind.REDUCE, Form.SELECT, 1, NUMBERS, _infer_extreme(_name), IS_INDEX, _doc, Axis
        )
    )
register(
    OpSpec(
        "cumsum",
        Kind.SCAN,
        Form.CUMSUM,
        1,
        NUMBERS,
        _infer_scan,
        each(_cumsum_gradient),
        "Running sum along an axis.",
        Axis,
    )
)
register(
    OpSpec(
        "argsort",
        Kind.SCAN,
        Form.SELECT,
        1,
        NUMBERS,
        lambda inputs, attrs: (inputs[0].shape, int64),
        IS_INDEX,
        "Indices that sort along an axis, stable; NaN is the largest.",
        Sort,
    )
)

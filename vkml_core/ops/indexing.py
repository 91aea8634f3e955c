"""Rows that read and add at indices given as a tensor."""

from __future__ import annotations

from collections.abc import Sequence

from vkml_core.dtypes import ALL, INTS, NUMBERS
from vkml_core.errors import DTypeError, ShapeError
from vkml_core.graph import Node, build
from vkml_core.ops.reduce import Axis
from vkml_core.ops.rules import each
from vkml_core.ops.spec import Form, Kind, OpSpec, Typed, attributes, register


@attributes
class Scatter:
    """The axis of the indices and its size in the result."""

    axis: int
    size: int


def _check_index(op: str, index: Node) -> None:
    if index.dtype not in INTS:
        raise DTypeError(f"{op}: indices are {index.dtype.name}, expected int64 or int32")


def _infer_gather(inputs: Sequence[Node], attrs: Axis) -> Typed:
    x, index = inputs
    _check_index("gather", index)
    same = len(x.shape) == len(index.shape) and all(
        d == e or i == attrs.axis for i, (d, e) in enumerate(zip(x.shape, index.shape, strict=True))
    )
    if not same:
        raise ShapeError(f"gather: index {index.shape} and input {x.shape} differ outside the dim")
    return index.shape, x.dtype


def _infer_scatter(inputs: Sequence[Node], attrs: Scatter) -> Typed:
    src, index = inputs
    _check_index("scatter_add", index)
    if src.shape != index.shape:
        raise ShapeError(f"scatter_add: index {index.shape} and source {src.shape} differ")
    return tuple(attrs.size if i == attrs.axis else d for i, d in enumerate(src.shape)), src.dtype


register(
    OpSpec(
        "gather",
        Kind.INDEX,
        Form.SELECT,
        2,
        ALL,
        _infer_gather,
        each(
            lambda n, g: build.scatter_add(
                g, n.inputs[1], axis=n.attrs.axis, size=n.inputs[0].shape[n.attrs.axis]
            )
        ),
        "Elements picked along an axis; an index outside it is an error.",
        Axis,
    )
)
register(
    OpSpec(
        "scatter_add",
        Kind.INDEX,
        Form.SCATTER,
        2,
        NUMBERS,
        _infer_scatter,
        each(lambda n, g: build.gather(g, n.inputs[1], axis=n.attrs.axis)),
        "Sources added at indices along an axis of zeros, in source order.",
        Scatter,
    )
)

"""The row of the matrix product."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkml_core.dtypes import NUMBERS
from vkml_core.errors import DTypeError, ShapeError
from vkml_core.graph import Node, build
from vkml_core.ops.rules import each, transpose
from vkml_core.ops.spec import Form, Kind, OpSpec, Typed, register


def _infer_matmul(inputs: Sequence[Node], attrs: Any) -> Typed:
    a, b = inputs
    if a.dtype is not b.dtype:
        raise DTypeError(f"matmul: inputs are {a.dtype.name} and {b.dtype.name}")
    if len(a.shape) < 2 or len(b.shape) != len(a.shape) or a.shape[:-2] != b.shape[:-2]:
        raise ShapeError(f"matmul: a row takes equal ranks ≥ 2 and batches, {a.shape} {b.shape}")
    if a.shape[-1] != b.shape[-2]:
        raise ShapeError(f"matmul: inner sizes differ: {a.shape} and {b.shape}")
    return (*a.shape[:-1], b.shape[-1]), a.dtype


register(
    OpSpec(
        "matmul",
        Kind.MATMUL,
        Form.MATMUL,
        2,
        NUMBERS,
        _infer_matmul,
        each(
            lambda n, g: build.matmul(g, transpose(n.inputs[1])),
            lambda n, g: build.matmul(transpose(n.inputs[0]), g),
        ),
        "Matrix product of the last two axes for each batch entry.",
    )
)

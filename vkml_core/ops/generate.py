"""Rows that make tensors from two numbers: counting and random bits."""

from __future__ import annotations

from collections.abc import Sequence

from vkml_core.dtypes import int32, int64
from vkml_core.errors import ArgumentError, DTypeError
from vkml_core.graph import Node
from vkml_core.ops.spec import Form, Kind, NotDifferentiable, OpSpec, Typed, attributes, register
from vkml_core.shapes import Shape, check_shape


@attributes
class Length:
    """How many elements."""

    length: int


@attributes
class RandomBits:
    """The shape and how many bits (1 to 31) of each 32-bit word, the top ones."""

    shape: Shape
    bits: int


def _check_numbers(op: str, inputs: Sequence[Node]) -> None:
    for x in inputs:
        if x.shape != () or x.dtype is not int64:
            raise DTypeError(f"{op}: takes two int64 tensors of rank 0, got {x.dtype} {x.shape}")


def _infer_arange(inputs: Sequence[Node], attrs: Length) -> Typed:
    _check_numbers("arange", inputs)
    return check_shape((attrs.length,), "arange"), int64


def _infer_bits(inputs: Sequence[Node], attrs: RandomBits) -> Typed:
    _check_numbers("random_bits", inputs)
    if not 1 <= attrs.bits <= 31:
        raise ArgumentError(f"random_bits: bits must be 1 to 31, got {attrs.bits}")
    return check_shape(attrs.shape, "random_bits"), int32


IS_INTEGER = NotDifferentiable("its result is an integer")
register(
    OpSpec(
        "arange",
        Kind.GENERATE,
        Form.INTEGER,
        2,
        frozenset({int64}),
        _infer_arange,
        IS_INTEGER,
        "First number + i · step.",
        Length,
    )
)
register(
    OpSpec(
        "random_bits",
        Kind.GENERATE,
        Form.PHILOX,
        2,
        frozenset({int64}),
        _infer_bits,
        IS_INTEGER,
        "Random bits of (seed, offset) as non-negative int32.",
        RandomBits,
    )
)

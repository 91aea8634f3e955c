"""What the public functions share: checking arguments, promotion, broadcasting, wrapping."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from vkml_core import runtime, shapes
from vkml_core.dtypes import DType, Scalar, combine, promote, promote_scalar
from vkml_core.errors import ArgumentError, ArgumentTypeError, DeviceError, DTypeError, ShapeError
from vkml_core.graph import Node, build, full
from vkml_core.ops.rules import cast, expand
from vkml_core.shapes import Shape, to_int
from vkml_core.tensor import Tensor

Operand = Tensor | Scalar
NUMBER_TYPES: Final = (bool, int, float, np.bool_, np.integer, np.floating)


def wrap(node: Node) -> Tensor:
    """Make the result tensor of an operation; in eager mode it is computed here."""
    if runtime.is_eager():
        runtime.realize([node])
    return Tensor(node)


def tensor_arg(value: object, what: str) -> Tensor:
    """Check that an argument is a tensor."""
    if isinstance(value, Tensor):
        return value
    raise ArgumentTypeError(
        f"{what}: expected a Tensor, got {type(value).__name__}; make one with vkml.tensor(data)"
    )


def float_arg(value: object, what: str) -> Tensor:
    """Check that an argument is a floating-point tensor."""
    tensor = tensor_arg(value, what)
    if not tensor.dtype.is_floating_point:
        raise DTypeError(
            f"{what}: expected a floating-point tensor, got {tensor.dtype.name}; "
            "convert with .to(vkml.float32)"
        )
    return tensor


def number_arg(value: object, what: str) -> float:
    """Check that an argument is a real number."""
    try:
        return float(scalar_arg(value, what))
    except OverflowError:
        raise ArgumentError(f"{what}: {value} is too large for a float") from None


def scalar_arg(value: object, what: str) -> Scalar:
    """Check that an argument is a real number, and give it as Python's."""
    if isinstance(value, NUMBER_TYPES):
        return value.item() if isinstance(value, np.generic) else value
    raise ArgumentTypeError(f"{what}: expected a number, got {type(value).__name__}")


def probability_arg(value: object, what: str) -> float:
    """Check that an argument is a number from 0 to 1."""
    p = number_arg(value, what)
    if not 0.0 <= p <= 1.0:
        raise ArgumentError(f"{what}: expected a probability from 0 to 1, got {p}")
    return p


def bool_arg(value: object, what: str) -> bool:
    """Check that an argument is True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise ArgumentTypeError(f"{what}: expected True or False, got {type(value).__name__}")


def choice_arg(value: object, what: str, choices: Sequence[str]) -> str:
    """Check that an argument is one of a few words."""
    if isinstance(value, str) and value in choices:
        return value
    raise ArgumentError(f"{what}: got {value!r}, expected one of {', '.join(map(repr, choices))}")


def pair_arg(value: object, what: str) -> tuple[int, int]:
    """Check that an argument is an int or two ints, and give two."""
    pair = shapes.to_ints(value, what)
    if hasattr(value, "__index__"):
        return pair[0], pair[0]
    if len(pair) != 2:
        raise ShapeError(f"{what}: expected an int or two ints, got {len(pair)}")
    return pair[0], pair[1]


def same_device(op: str, *tensors: Tensor) -> None:
    """Check that tensors are on one device."""
    first = tensors[0].node.device
    for other in tensors[1:]:
        if other.node.device != first:
            raise DeviceError(
                f"{op}: inputs are on {first} and {other.node.device}; one graph runs on "
                "one device, move one of them with .to(device)"
            )


def result_dtype(op: str, *values: object) -> DType:
    """Promote the dtypes of tensors and Python numbers as PyTorch does."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    if not tensors:
        raise ArgumentTypeError(f"{op}: expected at least one Tensor; use Python for plain numbers")
    dtype = functools.reduce(
        combine,
        (
            functools.reduce(promote, (t.dtype for t in group))
            for group in ([t for t in tensors if t.ndim], [t for t in tensors if not t.ndim])
            if group
        ),
    )
    for v in values:
        if not isinstance(v, Tensor):
            if not isinstance(v, NUMBER_TYPES):
                raise ArgumentTypeError(
                    f"{op}: expected a Tensor or a number, got {type(v).__name__}"
                )
            dtype = promote_scalar(dtype, v)  # type: ignore[arg-type]
    return dtype


def operands(op: str, dtype: DType, *values: object) -> list[Node]:
    """Convert tensors and numbers to `dtype` and broadcast them to one shape."""
    tensors = [v for v in values if isinstance(v, Tensor)]
    same_device(op, *tensors)
    first = tensors[0]
    shape = first.shape
    if any(t.shape != shape for t in tensors):
        shape = shapes.check_shape(shapes.broadcast(op, *(t.shape for t in tensors)), op)
    return [
        expand(cast(v.node, dtype), shape)
        if isinstance(v, Tensor)
        else full(shape, v, dtype, first.node.device)  # type: ignore[arg-type]
        for v in values
    ]


def shape_args(op: str, sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """Read a shape given as one sequence or as several ints."""
    if len(sizes) == 1 and not hasattr(sizes[0], "__index__"):
        return shapes.to_ints(sizes[0], f"{op}: shape")
    return tuple(to_int(s, f"{op}: shape") for s in sizes)


def keepdim_shape(x: Tensor, axes: Sequence[int], keepdim: bool) -> Shape:
    """Give the shape of a reduction's result."""
    give = shapes.keep_shape if keepdim else shapes.reduce_shape
    return give(x.shape, axes)


def stop(x: Tensor) -> Tensor:
    """Give the same values without history."""
    return Tensor(build.detach(x.node))

"""What a recorded step is bound to: tensors, numbers, results and effects, as data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from vkml_core.dtypes import DType, Scalar
from vkml_core.graph import Node, Storage
from vkml_core.live import Feed
from vkml_core.shapes import Shape
from vkml_core.tensor import Tensor


def meaning(node: Node) -> tuple[Any, ...]:
    """Give what a step depends on of a tensor, besides its value."""
    history = node.serial if node.requires_grad and node.owner is None else None
    return node.shape, node.dtype, node.device, node.requires_grad, history


@dataclass(frozen=True, slots=True)
class Outside:
    """A tensor that the step takes from outside; `place` is its input's, if its value is needed."""

    tensor: Tensor
    place: int | None
    meaning: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """A live number: its place among the scalars, and how to get it."""

    place: int
    evaluate: Callable[[], Scalar]


@dataclass(frozen=True, slots=True)
class Result:
    """A result: its place among the plan's, its type, and who has its buffer if it is not new."""

    place: int
    shape: Shape
    dtype: DType
    held: Storage | Tensor | int | None
    """A constant's storage, a tensor from outside, the number of an argument, or nobody."""


@dataclass(slots=True)
class Effects:
    """What a call does besides giving its results."""

    cleared: list[Tensor] = field(default_factory=list)
    """Tensors that have no gradient afterwards."""
    gradients: list[tuple[Tensor | int, Result]] = field(default_factory=list)
    """Tensors, or numbers of arguments, that get a new gradient."""
    arguments: list[tuple[int, Result]] = field(default_factory=list)
    """Numbers of arguments that stand for a new value."""
    required: list[tuple[int, bool]] = field(default_factory=list)
    """Numbers of arguments that begin, or end, to collect gradients."""


@dataclass(slots=True)
class Bindings:
    """Where the inputs and numbers of a plan come from."""

    outside: list[Outside]
    """What is overwritten in place comes first."""
    overwritten: int
    """How many are."""
    inputs: list[Any]
    """Buffers in the plan's order; None for arguments and gradients."""
    given: list[tuple[int, int]] = field(default_factory=list)
    """Numbers of arguments, and their places among the inputs."""
    gradients: list[tuple[Tensor, int]] = field(default_factory=list)
    """Tensors whose gradient is an input, and its place."""
    looked: list[tuple[Tensor, bool]] = field(default_factory=list)
    """Tensors whose gradient the step looks at, and whether they had one."""
    constants: list[Storage | None] = field(default_factory=list)
    """Of inputs that the step made itself: held, so that nobody takes them for his alone."""
    scalars: list[Scalar] = field(default_factory=list)
    feeds: list[tuple[Feed, list[Number]]] = field(default_factory=list)

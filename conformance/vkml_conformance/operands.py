"""What an operand of a sample is: its shape, and the role that its values play."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from vkml_conformance.domains import DOMAINS, Domain, range_of
from vkml_conformance.values import Array, below
from vkml_core.dtypes import DType, bool_, int32, int64

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Draw:
    """What the values of one operand depend on."""

    name: str
    op: str
    position: int
    shape: Shape
    dtype: DType
    domain: Domain


@dataclass(frozen=True)
class Role:
    """How the values of an operand are drawn."""

    draw: Callable[[Draw], Array]
    dtype: DType | None = None
    """The dtype that it has in every case; None where it is the case's."""
    refused: tuple[int, ...] = ()
    """Integers that the operand may not hold: the operation raises a typed error."""

    def __call__(self, draw: Draw) -> Array:
        """Draw the values."""
        return self.draw(draw)


def _value(draw: Draw) -> Array:
    within = range_of(draw.op, draw.position)
    return draw.domain.make(draw.name, draw.shape, draw.dtype, within)


def _condition(draw: Draw) -> Array:
    return DOMAINS["bool"][0].make(draw.name, draw.shape, bool_, range_of(draw.op, 0))


def _divisor(draw: Draw) -> Array:
    found = _value(draw)
    if draw.dtype.category != "int":
        return found
    return np.where(found == 0, found.dtype.type(-7), found)


def _exponent(draw: Draw) -> Array:
    found = _value(draw)
    return found & np.iinfo(found.dtype).max if draw.dtype.category == "int" else found


value: Final = Role(_value)
"""Numbers of the domain."""
condition: Final = Role(_condition, bool_)
"""Bools, whatever the dtype of the case."""
divisor: Final = Role(_divisor, refused=(0,))
"""Numbers of the domain, among the integers no 0."""
exponent: Final = Role(_exponent, refused=(-1, -(2**31)))
"""Numbers of the domain, among the integers none below 0."""


def index(limit: int, dtype: DType = int64) -> Role:
    """Make a role: indices below a limit."""

    def draw(place: Draw) -> Array:
        return below(place.name, place.shape, limit).astype(dtype.numpy)

    info = np.iinfo(dtype.numpy)
    outside = limit, -1, 2**31, 2**32, 2**32 + 1, info.max, info.min, -(2**31)
    held = (x for x in outside if info.min <= x <= info.max)
    return Role(draw, dtype, tuple(dict.fromkeys(held)))


@dataclass(frozen=True)
class Operand:
    """One operand; a gradient flows to values of a floating-point dtype alone."""

    shape: Shape
    role: Role = value


INDEX_DTYPES: Final = (int64, int32)

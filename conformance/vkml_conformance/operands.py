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


Role = Callable[[Draw], Array]


def value(draw: Draw) -> Array:
    """Give numbers of the domain."""
    within = range_of(draw.op, draw.position)
    return draw.domain.make(draw.name, draw.shape, draw.dtype, within)


def condition(draw: Draw) -> Array:
    """Give bools, whatever the dtype of the case."""
    return DOMAINS["bool"][0].make(draw.name, draw.shape, bool_, range_of(draw.op, 0))


def divisor(draw: Draw) -> Array:
    """Give numbers of the domain, among the integers no 0."""
    found = value(draw)
    if draw.dtype.category != "int":
        return found
    return np.where(found == 0, found.dtype.type(-7), found)


def exponent(draw: Draw) -> Array:
    """Give numbers of the domain, among the integers none below 0."""
    found = value(draw)
    return found & np.iinfo(found.dtype).max if draw.dtype.category == "int" else found


def index(limit: int, dtype: DType = int64) -> Role:
    """Make a role: indices below a limit."""

    def role(draw: Draw) -> Array:
        return below(draw.name, draw.shape, limit).astype(dtype.numpy)

    return role


@dataclass(frozen=True)
class Operand:
    """One operand; a gradient flows to values of a floating-point dtype alone."""

    shape: Shape
    role: Role = value


INDEX_DTYPES: Final = (int64, int32)

"""One call of a row, and the shapes that most rows are called with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from vkml_conformance.operands import Operand, Shape
from vkml_core.ops.spec import OpSpec


@dataclass(frozen=True)
class Sample:
    """One call of a row; a `full` one is run in every layout with every domain."""

    attrs: Any
    operands: tuple[Operand, ...]
    full: bool = False

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Shapes of the operands."""
        return tuple(o.shape for o in self.operands)


BASE: Final[Shape] = (3, 5, 2, 7)
RANKS: Final[tuple[Shape, ...]] = ((), (7,), (3, 5), (2, 3, 5))
EMPTY: Final[tuple[Shape, ...]] = ((0,), (2, 0, 3))
LANES: Final = (31, 32, 33, 511, 512, 513, 1023, 1024, 1025)
"""Sizes around the lanes and chunks of the contract."""


def made(spec: OpSpec, **values: Any) -> Any:
    """Make the attribute object of a row, or None where it takes none."""
    return spec.attrs(**values) if spec.attrs is not None else None

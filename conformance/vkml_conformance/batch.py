"""A batch of items of a row: which operands have items, and what is recorded of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

import vkml
from vkml import Tensor
from vkml_conformance.cases import Case
from vkml_conformance.domains import DOMAINS
from vkml_conformance.engine import ORACLE
from vkml_conformance.layouts import LAYOUTS
from vkml_conformance.operands import Shape
from vkml_conformance.rows import apply
from vkml_conformance.sample import Sample
from vkml_conformance.values import Array
from vkml_core import graph
from vkml_core.dtypes import DType, to_dtype
from vkml_core.ops.spec import Kind, OpSpec

Which = Callable[[Sequence[Shape]], Sequence[int]]
"""Shapes of the operands → places of those that have a batch axis."""


def _all(shapes: Sequence[Shape]) -> Sequence[int]:
    """All operands but single numbers."""
    return [i for i, shape in enumerate(shapes) if shape]


def _first(shapes: Sequence[Shape]) -> Sequence[int]:
    """The images, or their gradient; the weight serves all of them."""
    return [0]


def _products(shapes: Sequence[Shape]) -> Sequence[int]:
    """Both operands, or the rows of the first one."""
    return [0] if len(shapes[0]) == 2 else _all(shapes)


WHICH: Final[dict[Kind, Which]] = {
    **dict.fromkeys((Kind.ELEMENTWISE, Kind.MOVE, Kind.ASSIGN), _all),
    **dict.fromkeys((Kind.REDUCE, Kind.SCAN, Kind.INDEX, Kind.POOL), _all),
    Kind.CONV: _first,
    Kind.MATMUL: _products,
}
"""Kinds that are not here have no operand or compute nothing."""


@dataclass(frozen=True)
class Batch:
    """A batch of n of a sample, and which of its operands have n items."""

    case: Case
    n: int
    items: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Elements of all operands."""
        return sum(math.prod(shape) for shape in self.case.sample.shapes)

    @property
    def chosen(self) -> tuple[int, ...]:
        """Places of the items that are looked at: the first, the middle one, the last."""
        return tuple(sorted({0, self.n // 2, self.n - 1}))

    @cached_property
    def shape(self) -> Shape:
        """Shape of the result, from the row's own rule. Raises what it raises."""
        nodes = (
            graph.full(x.shape, x.dtype.type(0).item(), to_dtype(x.dtype), ORACLE)
            for x in self.case.arrays
        )
        return self.case.spec.infer(tuple(nodes), self.case.sample.attrs)[0]

    @cached_property
    def arrays(self) -> list[Array]:
        """The operands, and the gradient that the result receives where it has one."""
        case = self.case
        received = [case.received(self.shape)] if case.differentiable else []
        return [*case.arrays, *received]

    def alone(self, item: int) -> list[Array]:
        """Give the arrays of a batch of one."""
        last = len(self.case.arrays)
        return [
            x[item : item + 1] if i in self.items or i == last else x
            for i, x in enumerate(self.arrays)
        ]

    def names(self) -> list[str]:
        """Name what `record` gives of each item."""
        asked = [f"gradient of operand {i}" for i in self._asked]
        return ["forward", *asked]

    @property
    def _asked(self) -> list[int]:
        """Operands whose gradient is item by item that of the items."""
        case = self.case
        return [i for i in case.values if i in self.items] if case.differentiable else []

    def record(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Record the result and the gradients of operands with items, whole."""
        count = len(self.case.arrays)
        asked = [leaves[i].requires_grad_() for i in self._asked]
        result = apply(self.case, leaves[:count])
        if not asked:
            return [result]
        found = vkml.grad(result, asked, leaves[count], allow_unused=True)
        return [result, *(g for g in found if g is not None)]


def batch(spec: OpSpec, dtype: DType, sample: Sample, n: int, seed: int) -> Batch:
    """Make the batch of n of a sample, contiguous, of usual numbers."""
    items = tuple(WHICH[spec.kind](sample.shapes))
    operands = tuple(
        replace(o, shape=(n, *o.shape[1:])) if i in items else o
        for i, o in enumerate(sample.operands)
    )
    ways = (LAYOUTS[0],) * len(operands)
    usual = DOMAINS[dtype.category][0]
    sized = Sample(sample.attrs, operands)
    return Batch(Case(spec, dtype, sized, ways, usual, seed), n, items)

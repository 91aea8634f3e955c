"""A graph as data: arrays and numbers go in, calls of rows follow, some of the values come out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from vkml import Tensor, no_grad
from vkml_conformance.engine import ORACLE, compute
from vkml_conformance.normal_calls import normal
from vkml_conformance.values import Array
from vkml_core import graph
from vkml_core.dtypes import DType, Scalar
from vkml_core.functional.common import wrap
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.shapes import Shape


@dataclass(frozen=True)
class Number:
    """A `full` leaf: one number everywhere, handed over at run time."""

    shape: Shape
    dtype: DType
    value: Scalar

    @property
    def array(self) -> Array:
        """The number as an array of its shape."""
        return np.full(self.shape, self.value, self.dtype.numpy)


@dataclass(frozen=True)
class Call:
    """One operation: a row, its attributes, the places of its operands."""

    op: str
    attrs: Any
    args: tuple[int, ...]


Input = Array | Number


@dataclass(frozen=True, eq=False)
class Program:
    """A graph as data, and a subject to check.

    Places 0, 1, … are the inputs, those after them the results of the calls, in order.
    """

    inputs: tuple[Input, ...]
    calls: tuple[Call, ...]
    outputs: tuple[int, ...]

    @property
    def results(self) -> tuple[str, ...]:
        """Name each output with the operation that made it."""
        return tuple(f"output {i} ({self._maker(p)})" for i, p in enumerate(self.outputs))

    def _maker(self, place: int) -> str:
        first = len(self.inputs)
        return self.calls[place - first].op if place >= first else f"input {place}"

    def leaves(self) -> list[Array]:
        """Give the arrays to upload: at least one, which may be empty, so that it tells the device
        of a program that is made of numbers alone.
        """
        arrays = [x for x in self.inputs if not isinstance(x, Number)]
        return arrays or [np.zeros(0, np.float32)]

    def record(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Record all calls; in eager mode each is computed at once.

        Raises the errors of the rows where shapes or dtypes do not fit.
        """
        given, device = iter(leaves), leaves[0].node.device
        values = [_input(x, given, device) for x in self.inputs]
        with no_grad():
            for call in self.calls:
                values.append(_record(call, [values[a] for a in call.args]))
        return [values[place] for place in self.outputs]

    def wanted(self) -> list[Array]:
        """Give what the oracle gives; worked out once."""
        return self._wanted

    @cached_property
    def _wanted(self) -> list[Array]:
        return self.computed(ORACLE)

    def held(self, wanted: Sequence[Array]) -> list[Array] | None:
        """Promise everything where no value and no step is subnormal, and else nothing."""
        places = self.values()
        for call, place in zip(self.calls, range(len(self.inputs), len(places)), strict=True):
            if not normal(call.op, call.attrs, [places[a] for a in call.args], places[place]):
                return None
        return [np.ones(w.shape, np.bool_) for w in wanted]

    def computed(self, device: str) -> list[Array]:
        """Give the outputs on a device, all of one submission."""
        with np.errstate(all="ignore"):
            return compute(self.leaves(), self, device)

    def values(self, device: str = ORACLE) -> list[Array]:
        """Give the value of every place: those of the inputs as they are, the others computed."""
        first, last = len(self.inputs), len(self.inputs) + len(self.calls)
        made = replace(self, outputs=tuple(range(first, last)))
        known = [x.array if isinstance(x, Number) else x for x in self.inputs]
        return [*known, *(made.computed(device) if self.calls else [])]

    def pruned(self) -> Program:
        """Leave out inputs and calls that no output needs."""
        first, needed = len(self.inputs), set(self.outputs)
        for i in reversed(range(len(self.calls))):
            if first + i in needed:
                needed.update(self.calls[i].args)
        number = {old: new for new, old in enumerate(sorted(needed))}
        calls = (
            replace(call, args=tuple(number[a] for a in call.args))
            for i, call in enumerate(self.calls)
            if first + i in needed
        )
        inputs = tuple(x for i, x in enumerate(self.inputs) if i in needed)
        return Program(inputs, tuple(calls), tuple(number[p] for p in self.outputs))

    @property
    def elements(self) -> int:
        """Count the elements of all inputs; a number counts once."""
        return sum(1 if isinstance(x, Number) else x.size for x in self.inputs)


def _input(x: Input, leaves: Any, device: str) -> Tensor:
    if isinstance(x, Number):
        return Tensor(graph.full(x.shape, x.value, x.dtype, device))
    leaf: Tensor = next(leaves)
    return leaf


def _record(call: Call, operands: list[Tensor]) -> Tensor:
    """Record a call. An assignment goes through a handle of its own, which then stands for the new
    value: who holds the old one keeps it, and the new one joins the next submission.
    """
    spec = REGISTRY[call.op]
    if spec.kind is Kind.ASSIGN:
        target, source = operands
        return Tensor(target.node).assign_(source)
    return wrap(graph.apply(spec, tuple(t.node for t in operands), call.attrs))

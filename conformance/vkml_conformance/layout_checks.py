"""The same values give the same bits however they lie in memory: the checks of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import numpy as np

import vkml
from vkml import Tensor
from vkml_conformance.cases import Case, takes
from vkml_conformance.check import Check
from vkml_conformance.domains import DOMAINS
from vkml_conformance.engine import ORACLE, upload
from vkml_conformance.layouts import LAYOUTS, Layout
from vkml_conformance.normal import subnormal
from vkml_conformance.rows import apply
from vkml_conformance.sample import Sample
from vkml_conformance.samples import SAMPLES
from vkml_conformance.values import Array
from vkml_core import graph
from vkml_core.dtypes import DType, to_dtype
from vkml_core.ops.spec import REGISTRY, Kind, OpSpec

CONTIGUOUS: Final = LAYOUTS[0]
REPEATING: Final = tuple(x for x in LAYOUTS if x.name == "broadcast")
"""Layouts that hold only values which repeat; they are compared among themselves."""
WITHOUT: Final = frozenset((Kind.LEAF, Kind.GENERATE))
"""Kinds without operands that could lie in memory in more than one way."""


@dataclass(frozen=True)
class Way:
    """Values in one layout: the operands and, where there is a gradient, what is received."""

    case: Case
    layout: Layout
    arrays: tuple[Array, ...]

    def _layout(self, x: Array) -> Layout:
        return self.layout if x.ndim in self.layout.ranks else CONTIGUOUS

    def memory(self) -> list[Array]:
        """Give the memory of all arrays."""
        return [self._layout(x).memory(x) for x in self.arrays]

    def record(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Record the result, and the gradients of the operands as they are seen."""
        case, count = self.case, len(self.case.arrays)
        for i in case.values if case.differentiable else ():
            leaves[i].requires_grad_()
        pairs = zip(leaves, self.arrays, strict=True)
        seen = [self._layout(x).view(leaf, x.shape) for leaf, x in pairs]
        result = apply(case, seen[:count])
        if not case.differentiable:
            return [result]
        asked = [seen[i] for i in case.values]
        found = vkml.grad(result, asked, seen[count], allow_unused=True)
        return [result, *(g for g in found if g is not None)]

    def names(self, results: int) -> list[str]:
        """Name that many results."""
        said = [f"gradient of value {i}" for i in range(results - 1)]
        shape = self.case.sample.shapes[0]
        return [f"{name} of {shape}, {self.layout.name}" for name in ("forward", *said)]


@dataclass(frozen=True)
class LayoutSubject:
    """Some samples of a row in every layout. Results: one layout of a sample after another."""

    cases: tuple[Case, ...]

    @cached_property
    def _groups(self) -> list[list[Way]]:
        """Ways to hold the same values, the contiguous one first."""
        return [group for case in self.cases for group in _ways(case)]

    @cached_property
    def results(self) -> tuple[str, ...]:
        """`forward of (3, 5, 2, 7), sliced`, then the gradients, then the next layout."""
        return tuple(
            name
            for group in self._groups
            for way in group
            for name in way.names(len(way.record(upload(way.memory(), ORACLE))))
        )

    def leaves(self) -> list[Array]:
        """Give the memory of every operand and received gradient in every layout."""
        return [x for group in self._groups for way in group for x in way.memory()]

    def record(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Record the row on each layout's views, and the gradients of these."""
        given, out = iter(leaves), []
        for group in self._groups:
            for way in group:
                out += way.record([next(given) for _ in way.arrays])
        return out

    def wanted(self) -> list[Array]:
        """Give what the oracle gives for contiguous memory, for every layout."""
        out = []
        for group in self._groups:
            results = group[0].record(upload(group[0].memory(), ORACLE))
            vkml.realize(*results)
            out += [r.numpy() for r in results] * len(group)
        return out

    def held(self, wanted: Sequence[Array]) -> list[Array] | None:
        """Promise everything where no subnormal is among operands and results."""
        hidden = any(subnormal(x).any() for x in (*self.leaves(), *wanted))
        return None if hidden else [np.ones(w.shape, np.bool_) for w in wanted]


def _ways(case: Case) -> Iterator[list[Way]]:
    arrays = case.arrays
    if case.differentiable:
        nodes = (graph.full(x.shape, 0, to_dtype(x.dtype), ORACLE) for x in arrays)
        shape = case.spec.infer(tuple(nodes), case.sample.attrs)[0]
        arrays = (*arrays, case.received(shape))
    yield [Way(case, layout, arrays) for layout in LAYOUTS if layout not in REPEATING]
    for layout in REPEATING:
        same = tuple(layout.logical(x) for x in arrays)
        yield [Way(case, lay, same) for lay in (CONTIGUOUS, layout)]


@cache
def _samples(spec: OpSpec) -> tuple[Sample, ...]:
    """Give the first full sample of a row and the largest one."""
    found = list(SAMPLES[spec.kind](spec))
    full = next(s for s in found if s.full)
    largest = max(found, key=lambda s: sum(int(np.prod(shape)) for shape in s.shapes))
    return (full,) if largest is full else (full, largest)


def derive(seed: int = 0) -> Iterator[Check]:
    """Give a check of every row with operands and dtype: `layout/<op>/<dtype>`."""
    for spec in REGISTRY.values():
        if spec.kind not in WITHOUT:
            for dtype in takes(spec):
                yield _check(spec, dtype, seed)


def _check(spec: OpSpec, dtype: DType, seed: int) -> Check:
    usual = DOMAINS[dtype.category][0]
    cases = tuple(
        Case(spec, dtype, sample, (CONTIGUOUS,) * len(sample.operands), usual, seed)
        for sample in _samples(spec)
    )
    told = [f"{c.sample.shapes} {c.sample.attrs or ''}".strip() for c in cases]
    return Check(
        id=f"layout/{spec.name}/{dtype.name}" + (f"@{seed}" if seed else ""),
        family="invariance",
        op=spec.name,
        dtype=dtype.name,
        part="layout",
        subject=LayoutSubject(cases),
        about={"samples": "; ".join(told), "seed": str(seed)},
    )

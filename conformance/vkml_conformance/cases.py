"""Derives the cases from the registry: rows × dtypes × samples × layouts × value domains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from vkml_conformance.domains import DOMAINS, LINE_STARTS, Domain
from vkml_conformance.layouts import LAYOUTS, Layout, cycle
from vkml_conformance.operands import Draw, value
from vkml_conformance.sample import Sample
from vkml_conformance.samples import LARGE, SAMPLES
from vkml_conformance.values import Array
from vkml_core.dtypes import ALL, DTYPES, DType
from vkml_core.ops.elementwise import Cast
from vkml_core.ops.spec import REGISTRY, OpSpec

_SECOND: Final[dict[str, frozenset[DType]]] = {"where": ALL}
"""Dtypes of the values of rows whose first operand is a condition."""


def takes(spec: OpSpec) -> list[DType]:
    """List the dtypes of the values that a row takes."""
    chosen = _SECOND.get(spec.name, spec.dtypes)
    return [dtype for dtype in DTYPES if dtype in chosen]


@dataclass(frozen=True)
class Case:
    """One call of a row: which operands, how they lie in memory, which values they have."""

    spec: OpSpec
    dtype: DType
    sample: Sample
    layouts: tuple[Layout, ...]
    domain: Domain
    seed: int = 0
    """Changes the values; no other seed than 0 has recorded digests."""

    @property
    def name(self) -> str:
        """Tell it from all others."""
        shapes = [str(shape).replace(" ", "") for shape in self.sample.shapes]
        dtypes = [operand.role.dtype or self.dtype for operand in self.sample.operands]
        others = [dtype.numpy.name for dtype in dtypes if dtype != self.dtype]
        lays = [layout.name for layout in self.layouts]
        if len(set(lays)) == 1:
            lays = lays[:1]
        said = self.spec.name, self.dtype.name, *others, *shapes, self._said, *lays
        return " ".join(filter(None, (*said, self.domain.name)))

    @property
    def _said(self) -> str:
        attrs = self.sample.attrs
        return "" if attrs is None else repr(attrs).partition("(")[2][:-1].replace(" ", "")

    @property
    def result(self) -> DType:
        """The dtype of a result that is a float."""
        to: DType = self.sample.attrs.dtype if self.spec.attrs is Cast else self.dtype
        return to

    @property
    def differentiable(self) -> bool:
        """Whether its result has a gradient with respect to an operand."""
        floating = self.dtype.is_floating_point and self.result.is_floating_point
        return self.spec.differentiable and floating

    @property
    def values(self) -> tuple[int, ...]:
        """Places of the operands that have the dtype of the case: those with a gradient."""
        return tuple(i for i, x in enumerate(self.arrays) if x.dtype == self.dtype.numpy)

    @cached_property
    def arrays(self) -> tuple[Array, ...]:
        """The operands, as their layouts can hold them."""
        return tuple(self._operand(i) for i in range(len(self.sample.operands)))

    def _operand(self, position: int) -> Array:
        operand, layout = self.sample.operands[position], self.layouts[position]
        name = self._stream(str(position))
        draw = Draw(name, self.spec.name, position, operand.shape, self.dtype, self.domain)
        return layout.logical(operand.role(draw))

    def received(self, shape: tuple[int, ...]) -> Array:
        """Draw the gradient that a result of that shape receives."""
        return value(Draw(self._stream("gradient"), "", 0, shape, self.result, self.domain))

    def received_twice(self, position: int, shape: tuple[int, ...]) -> Array:
        """Draw what the gradient of an operand's memory of that shape receives."""
        stream = self._stream(f"second gradient {position}")
        return value(Draw(stream, "", 0, shape, self.dtype, self.domain))

    def _stream(self, what: str) -> str:
        """Name the random numbers of an operand or a gradient."""
        name = f"{self.spec.name} {self.dtype.name} {self.domain.name} {what}"
        return f"{name} seed {self.seed}" if self.seed else name


def derive(rows: Mapping[str, OpSpec] = REGISTRY) -> Iterator[Case]:
    """Give every case of every row with every dtype that it takes."""
    for spec in rows.values():
        for dtype in takes(spec):
            yield from cases_of(spec, dtype)


def cases_of(spec: OpSpec, dtype: DType, seed: int = 0) -> Iterator[Case]:
    """Give the cases of a row with one dtype.

    A full sample comes in every layout, alike for all operands and different for each, with every
    domain. The others come contiguous with the usual values, and mixed with the strangest; large
    ones with floats that tell what is read beyond the end of a line.
    """
    domains = DOMAINS[dtype.category]
    for sample in SAMPLES[spec.kind](spec):
        ways = list(_ways(sample))
        if sample.full:
            pairs = [(way, domain) for way in ways for domain in domains]
        else:
            pairs = [(ways[0], domains[0]), *((way, domains[-1]) for way in ways[1:])]
        for way, domain in pairs:
            yield Case(spec, dtype, sample, way, domain, seed)
    large = LARGE.get(spec.kind) if dtype.category == "float" else None
    for sample in large(spec) if large else ():
        ways = list(_ways(sample))
        for way in ways if sample.full else ways[:1]:
            yield Case(spec, dtype, sample, way, LINE_STARTS, seed)


def _ways(sample: Sample) -> Iterator[tuple[Layout, ...]]:
    """Give the layouts of the operands: the same for each, then a different one for each."""
    shapes, seen = sample.shapes, set()
    alike = [(layout,) * len(shapes) for layout in LAYOUTS]
    mixed = [cycle(first, len(shapes)) for first in (1, 2, 3)] if len(shapes) > 1 else []
    for way in (*alike, *mixed):
        fitting = tuple(
            layout if len(shape) in layout.ranks else LAYOUTS[0]
            for layout, shape in zip(way, shapes, strict=True)
        )
        names = tuple(layout.name for layout in fitting)
        if names not in seen:
            seen.add(names)
            yield fitting

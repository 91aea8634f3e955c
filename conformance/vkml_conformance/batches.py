"""A result of a batch is, item by item, the result of each item alone: the checks of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Final

import numpy as np

import vkml
from vkml import Tensor
from vkml_conformance.batch import WHICH, Batch, batch
from vkml_conformance.cases import takes
from vkml_conformance.check import Check
from vkml_conformance.engine import ORACLE, upload
from vkml_conformance.normal import subnormal
from vkml_conformance.sample import Sample
from vkml_conformance.samples import SAMPLES
from vkml_conformance.values import Array
from vkml_core.dtypes import DType
from vkml_core.errors import Error
from vkml_core.ops.spec import REGISTRY, Kind, OpSpec

SIZES: Final = (1, 2, 7, 31, 32, 33, 64, 65, 128, 257)
FEWER: Final = (1, 33, 257)
"""Sizes for rows whose elements do not depend on each other: their row cases have the others."""
MORE: Final = (3, 4, 5, 8, 15, 16, 17, 63, 127, 129, 255, 256, 511, 512, 513, 1024, 1025)
ALONE: Final = frozenset((Kind.ELEMENTWISE, Kind.MOVE, Kind.ASSIGN))
KEPT: Final = {**dict.fromkeys(ALONE, 1), Kind.MATMUL: 3}
"""Samples of a row in one check; 2 for all other kinds."""
LARGEST: Final = {False: 1 << 16, True: 1 << 21}
"""Elements of the operands of a batch of any but the usual sample, by whether it is thorough."""


@dataclass(frozen=True)
class BatchSubject:
    """Batches of n of some samples of a row; results: chosen items of all results."""

    batches: tuple[Batch, ...]

    @cached_property
    def results(self) -> tuple[str, ...]:
        """`forward of (33, 5, 2, 7), item 16`, likewise for gradients."""
        return tuple(
            f"{name} of {b.case.sample.shapes[0]}, item {item}"
            for b in self.batches
            for name in b.names()
            for item in b.chosen
        )

    def leaves(self) -> list[Array]:
        """Give the operands of all batches, contiguous, and the gradients received."""
        return [x for b in self.batches for x in b.arrays]

    def record(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Record the batches, and read the chosen items."""
        given, out = iter(leaves), []
        for b in self.batches:
            found = b.record([next(given) for _ in b.arrays])
            out += [whole[item] for whole in found for item in b.chosen]
        return out

    def wanted(self) -> list[Array]:
        """Give what the oracle gives for each chosen item alone."""
        return [x for b in self.batches for x in _alone(b)]

    def held(self, wanted: Sequence[Array]) -> list[Array] | None:
        """Promise everything where no subnormal is among operands and results."""
        hidden = any(subnormal(x).any() for x in (*self.leaves(), *wanted))
        return None if hidden else [np.ones(w.shape, np.bool_) for w in wanted]


def _alone(b: Batch) -> list[Array]:
    """Give the oracle's results of the chosen items, each a batch of one, result by result."""
    found = [b.record(upload(b.alone(item), ORACLE)) for item in b.chosen]
    vkml.realize(*(r for results in found for r in results))
    return [results[i].numpy()[0] for i in range(len(b.names())) for results in found]


@cache
def samples(spec: OpSpec) -> tuple[Sample, ...]:
    """Give the samples of a row that have a batch axis: a usual one, the largest, other ranks."""
    found = [s for s in SAMPLES[spec.kind](spec) if _fits(spec, s)] if spec.kind in WHICH else []
    if not found:
        return ()
    usual = next((s for s in found if s.full), found[0])
    largest = max(found, key=lambda s: sum(int(np.prod(shape)) for shape in s.shapes))
    ranks = {len(s.shapes[0]): s for s in reversed(found)}
    kept = {id(s): s for s in (usual, largest, *ranks.values())}
    return tuple(kept.values())[: KEPT.get(spec.kind, 2)]


def _fits(spec: OpSpec, sample: Sample) -> bool:
    """Whether the leading axis of a sample may have any size, and is the result's too."""
    attrs = sample.attrs
    along = getattr(attrs, "axis", None) == 0 or 0 in getattr(attrs, "axes", ())
    if along or not sample.shapes[0] or 0 in sample.shapes[0][1:]:
        return False
    dtype = takes(spec)[0]
    try:
        return all(batch(spec, dtype, sample, n, 0).shape[:1] == (n,) for n in (5, 6))
    except Error:
        return False


def _sizes(spec: OpSpec, thorough: bool) -> Sequence[int]:
    if thorough:
        return sorted({*SIZES, *MORE})
    return FEWER if spec.kind in ALONE else SIZES


def derive(seed: int = 0, thorough: bool = False) -> Iterator[Check]:
    """Give a check of every row with a batch axis, dtype and size: `batch/<op>/<dtype>/<n>`; if
    `thorough`, of more sizes, and one more with `/long` after it where larger batches are left.
    """
    for spec in REGISTRY.values():
        if not samples(spec):
            continue
        for dtype in takes(spec):
            for n in _sizes(spec, thorough):
                usual, larger = _batches(spec, dtype, n, seed)
                name = f"batch/{spec.name}/{dtype.name}/{n}"
                yield _check(name, spec, dtype, usual, seed)
                if thorough and larger:
                    yield _check(f"{name}/long", spec, dtype, larger, seed)


Batches = tuple[Batch, ...]


def _batches(spec: OpSpec, dtype: DType, n: int, seed: int) -> tuple[Batches, Batches]:
    """Give the batches of every run (of the usual sample, and small ones), and larger ones."""
    made = [batch(spec, dtype, sample, n, seed) for sample in samples(spec)]
    small = (made[0], *(b for b in made[1:] if b.elements <= LARGEST[False]))
    larger = (b for b in made[1:] if LARGEST[False] < b.elements <= LARGEST[True])
    return small, tuple(larger)


def _check(name: str, spec: OpSpec, dtype: DType, batches: Batches, seed: int) -> Check:
    told = [f"{b.case.sample.shapes} {b.case.sample.attrs or ''}".strip() for b in batches]
    return Check(
        id=name + (f"@{seed}" if seed else ""),
        family="invariance",
        op=spec.name,
        dtype=dtype.name,
        part="batch",
        subject=BatchSubject(batches),
        about={"batches": "; ".join(told), "seed": str(seed)},
    )

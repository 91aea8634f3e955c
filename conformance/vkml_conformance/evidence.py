"""A wrong result with all that a guess at its cause goes by, and distances of floats in ulp."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np

import vkml
from vkml_conformance.cases import Case
from vkml_conformance.check import Run, Subject
from vkml_conformance.values import FORMATS, Array, words
from vkml_conformance.variants import Rows, compute
from vkml_core.ops.spec import REGISTRY, Form

LARGEST: Final = 1 << 18
"""Elements of the largest subject that is computed again to guess."""


def ulps(got: Any, want: Any) -> int | None:
    """Give the distance of two floats of one dtype; None for NaN and for other dtypes.

    −0 and +0 are 0 apart; the largest number and infinity are 1 apart.
    """
    a, b = np.asarray(got), np.asarray(want)
    if a.dtype not in FORMATS or np.isnan(a) or np.isnan(b):
        return None
    return int(distances(a, b))


def distances(got: Array, want: Array) -> Array:
    """Give the distances of floats of one dtype in ulp, element by element, as int64."""
    return np.asarray(np.abs(_places(got) - _places(want)))


def _places(x: Array) -> Array:
    """Number the floats of a dtype in their order; both zeros are 0."""
    word = words(x).astype(np.int64).reshape(x.shape)
    sign = np.int64(1 << (8 * x.dtype.itemsize - 1))
    return np.where(word >= sign, sign - word, word)


@dataclass(frozen=True)
class Evidence:
    """A wrong result and what it was computed from."""

    subject: Subject
    what: str
    run: Run
    whole: Array
    """The result that was got."""
    right: Array
    """The result that is wanted, of the same shape and dtype."""
    leaves: Sequence[Array]
    earlier: Array | None
    """What the same device gave for other values in the run before."""

    @cached_property
    def wrong(self) -> Array:
        """Mark the elements that differ."""
        found = words(self.whole) != words(self.right)
        return np.asarray(found).reshape(self.right.shape)

    @cached_property
    def got(self) -> Array:
        """The elements that differ, as they were got, flat."""
        return np.asarray(self.whole[self.wrong])

    @cached_property
    def want(self) -> Array:
        """The elements that differ, as they are wanted, flat."""
        return np.asarray(self.right[self.wrong])

    @property
    def floating(self) -> bool:
        """Whether the result is of floats."""
        return self.right.dtype in FORMATS

    @cached_property
    def apart(self) -> Array:
        """Distances in ulp of the elements that differ, but for those where a side is NaN."""
        if not self.floating:
            return np.zeros(0, np.int64)
        numbers = ~(np.isnan(self.got) | np.isnan(self.want))
        return distances(self.got[numbers], self.want[numbers])

    @property
    def is_one_ulp(self) -> bool:
        """Whether all that differs are numbers next to those that are wanted."""
        return self.apart.size == self.got.size and bool(np.all(self.apart == 1))

    @property
    def is_costly(self) -> bool:
        """Whether the subject computes much when it is recorded, as whole runs do."""
        return bool(getattr(self.subject, "costly", False))

    @property
    def case(self) -> Case | None:
        """The case of a row whose result this is; None for gradients and everything else."""
        found = getattr(self.subject, "case", None)
        return found if isinstance(found, Case) and self.what == "forward" else None

    @cached_property
    def ops(self) -> frozenset[str]:
        """Operations of the subject; none where it is too large to be computed again."""
        size = self.right.size + sum(x.size for x in self.leaves)
        if size > LARGEST or self.is_costly:
            return frozenset()
        recorded = self.subject.record([vkml.tensor(x, device="cpu") for x in self.leaves])
        return frozenset(vkml.plan(*recorded).ops())

    @property
    def forms(self) -> frozenset[Form]:
        """Numeric forms of those operations."""
        return frozenset(REGISTRY[op].form for op in self.ops)

    def is_made_by(self, rows: Rows) -> bool:
        """Whether an oracle with these kernels gives what was got, where that differs."""
        if self.ops.isdisjoint(rows):
            return False
        place = list(self.subject.results).index(self.what)
        try:
            made = compute(rows, self.subject, self.leaves)[place]
        except Exception:  # a guess may fail; the difference is told without it
            return False
        return np.array_equal(words(made[self.wrong]), words(self.got))

"""What a result must not depend on: batch neighbours, memory layout, the size of a draw."""

from __future__ import annotations

from collections.abc import Iterator

from vkml_conformance import batches, layout_checks, seeds
from vkml_conformance.check import Check


def derive(seed: int = 0, thorough: bool = False) -> Iterator[Check]:
    """Give the checks of the family `invariance`: parts `batch`, `layout` and `seed`.

    They are a function of `seed`, which changes the values and is part of the ids unless it is 0.
    `thorough` adds sizes of batches.
    """
    yield from batches.derive(seed, thorough)
    yield from layout_checks.derive(seed)
    yield from seeds.derive(seed)

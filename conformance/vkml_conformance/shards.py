"""Which bundles of checks belong to which of a device's processes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final

from vkml_conformance.check import Check

Bundle = Sequence[Check]
UNEVEN: Final = 1.1
"""How much longer the longest shard may be than the mean of all."""
_ALIKE: Final[tuple[Callable[[Check], Hashable], ...]] = (
    lambda check: check.dtype,
    lambda check: (check.dtype, check.op),
    lambda check: check.id,
)
"""What keeps checks together, the best first: a process compiles the kernels of its checks, and
most kernels are for one dtype."""


def shards(bundles: Sequence[Bundle], number: int) -> list[int]:
    """Give the shard of each bundle: together what shares kernels, as far as that is even.

    >>> shards([], 2)
    []
    """
    found: list[int] = []
    for alike in _ALIKE:
        found, loads = _dealt(bundles, number, alike)
        if max(loads) * number <= UNEVEN * sum(loads):
            break
    return found


def _dealt(
    bundles: Sequence[Bundle], number: int, alike: Callable[[Check], Hashable]
) -> tuple[list[int], list[int]]:
    """Give groups of bundles, the largest first, to the shard with the fewest checks."""
    sizes: dict[Hashable, int] = {}
    for bundle in bundles:
        key = alike(bundle[0])
        sizes[key] = sizes.get(key, 0) + len(bundle)
    loads, shard = [0] * number, {}
    for key in sorted(sizes, key=lambda k: -sizes[k]):
        shard[key] = min(range(number), key=loads.__getitem__)
        loads[shard[key]] += sizes[key]
    return [shard[alike(bundle[0])] for bundle in bundles], loads

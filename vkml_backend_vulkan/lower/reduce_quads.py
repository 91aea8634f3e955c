"""Reductions of elements that lie side by side, four lanes at a time; and of what chunks gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vkml_backend_vulkan.dispatch import Dispatch, Limits, Pointer
from vkml_backend_vulkan.lower.layout import Strides, collapse, grid, local_size, pack, spread
from vkml_backend_vulkan.shaders.tables.reduce import IN_QUADS, QUADS, REST
from vkml_core.shapes import Shape, View, size

CHUNK: Final = 1024
LANES: Final = 32
FOUR: Final = 4
SIDE: Final = LANES // FOUR
"""Invocations of a chunk that is read four lanes at a time."""
LEAST: Final = 4 * LANES
"""Elements of a row from which on all of these invocations have something to read."""
FEW: Final = 256
"""Elements up to which all ways are as good: one variant of a module does for all shapes."""
MOST_OF_A_GROUP: Final = 1 << 16
"""Results of chunks that a workgroup alone reads as fast as another dispatch starts."""
_GROUP: Final = 1024


@dataclass(frozen=True, slots=True)
class Quads:
    """How a kernel of four lanes at a time reads a view: strides and extents in fours."""

    extents: Shape
    strides: Strides
    inner: int
    across: int
    offset: int
    """In elements."""
    flat: bool


def quads(op: str, token: str, outer: View, inner: View) -> Quads | None:
    """Give how elements are read four at a time, or None where they do not lie so."""
    n = size(inner.shape)
    if (op, token) not in IN_QUADS or n < LEAST or size(outer.shape) * n <= FEW:
        return None
    extents, (strides,) = collapse(outer.shape, outer.strides)
    reduced, (steps,) = collapse(inner.shape, inner.strides)
    apart = (outer.offset, steps[2], *strides)
    alone = n == reduced[3] and size(outer.shape) == 1
    whole = alone or not reduced[3] % FOUR
    aligned = not any(a < 0 or a % FOUR for a in apart)
    if size(reduced[:2]) > 1 or steps[3] != 1 or not aligned or not whole:
        return None
    inner_fours = -(-reduced[3] // FOUR)
    fours = tuple(s // FOUR for s in strides)
    return Quads(extents, fours, inner_fours, steps[2] // FOUR, outer.offset, n == reduced[3])


def by_quads(
    module: str, how: Quads, n: int, result: Pointer, source: Pointer, limits: Limits
) -> Dispatch:
    """Give the dispatch that reduces every chunk of rows of `n` elements."""
    chunks, local = -(-n // CHUNK), local_size(limits)
    tasks = size(how.extents) * chunks
    return Dispatch(
        module + QUADS,
        grid(tasks * SIDE, local, limits),
        (result, Pointer(source.slot, source.offset + FOUR * how.offset)),
        pack(*how.extents, *how.strides, how.inner, how.across, n, chunks, tasks),
        (local, 0, int(how.flat)),
    )


def takes_rest(n: int) -> bool:
    """Whether a workgroup a row does all that is left: two levels of chunks, and not too much."""
    return CHUNK < n <= MOST_OF_A_GROUP


def rest(
    module: str, rows: int, n: int, result: Pointer, source: Pointer, limits: Limits
) -> Dispatch:
    """Give the dispatch that reduces rows of `n` results of chunks to one each."""
    few = n <= FOUR * CHUNK
    local = local_size(limits) if few else min(_GROUP, limits.invocations)
    return Dispatch(module + REST, spread(rows, limits), (result, source), pack(n, rows), (local,))

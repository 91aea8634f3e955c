"""Products by tiles: which tile, how many workgroups, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vkml_backend_vulkan.dispatch import Dispatch, Limits, Pointer
from vkml_backend_vulkan.lower.choice import ONE_OUTPUT, SLICES, TILES, decision
from vkml_backend_vulkan.lower.launch import each_output
from vkml_backend_vulkan.lower.layout import pack
from vkml_core.decisions import Decision

DEPTH: Final = 16
"""Steps of k that pass through shared memory at a time (tile.glsl)."""
CHUNK: Final = 512
"""The contract's chunk of k, at whose multiples it may be cut."""
LEAST_SIDE: Final = 24
"""Rows or columns below which most of a tile would be idle."""
LEAST_SIDE_OF_SLICES: Final = 8
"""The same where k is cut into chunks, which one output an invocation would add one by one."""
LEAST_PRODUCTS: Final = 2**18
ENOUGH: Final = 256
"""Workgroups that fill a large device; with fewer, chunks of k are computed side by side."""
FEW: Final = 160
"""Workgroups below which smaller tiles, and so more of them, are faster on a large device."""
MOST_SLICES_BYTES: Final = 2**28


@dataclass(frozen=True, slots=True)
class Tile:
    """Results of a workgroup."""

    rows: int
    columns: int

    @property
    def invocations(self) -> int:
        """Invocations of the workgroup, each with 4 × 4 results, in a small tile with 2 × 4."""
        return self.rows * self.columns // (8 if self.rows * self.columns == 1024 else 16)

    @property
    def shared(self) -> int:
        """Bytes of shared memory: two buffers of both factors, each row one vector longer."""
        return 2 * DEPTH * (self.rows + 4 + self.columns + 4) * 4

    @property
    def constants(self) -> tuple[int, int]:
        """Give the specialisation constants 4 and 5."""
        return self.rows, self.columns

    @property
    def cost(self) -> float:
        """Time for a result, in terms of its products alone: the rest is reading, which a tile of
        32 × 32 has twice as much of for each result as one of 64 × 64 (timed on an H200).
        """
        return 1 + 12 * (1 / self.rows + 1 / self.columns)

    def count(self, rows: int, columns: int) -> int:
        """Count the tiles of a matrix."""
        return -(-rows // self.rows) * -(-columns // self.columns)

    def __str__(self) -> str:
        return f"{self.rows} × {self.columns}"


SHAPES: Final = (Tile(64, 64), Tile(32, 128), Tile(32, 32))
"""The largest first, which read least; the last for products that give few tiles."""


def fitting(limits: Limits) -> list[Tile]:
    """List the tiles that a device has room for."""
    return [t for t in SHAPES if t.invocations <= limits.invocations and t.shared <= limits.shared]


def tile_of(
    rows: int, columns: int, depth: int, matrices: int, limits: Limits, *, cut: bool = True
) -> Tile | None:
    """Give the tile for a float32 product, or None where it is not worth one: that of the least
    waste, or the smallest where the workgroups would not fill a device. `cut` tells whether the
    chunks of k may be workgroups, too.
    """
    found = fitting(limits)
    large = rows * columns * depth >= LEAST_PRODUCTS
    least = LEAST_SIDE_OF_SLICES if cut and depth > CHUNK else LEAST_SIDE
    if not found or not large or min(rows, columns) < least:
        return None
    best = min(found, key=lambda t: t.count(rows, columns) * t.rows * t.columns * t.cost)
    workgroups = matrices * best.count(rows, columns) * (-(-depth // CHUNK) if cut else 1)
    return best if workgroups >= FEW else found[-1]


def not_tiled(op: str, token: str, product: Sequence[int], limits: Limits) -> Decision:
    """Tell why a product is not computed by tiles."""
    small = f"{' × '.join(map(str, product))} is too little work for a tile of {SHAPES[-1]}"
    large = min(product[:2]) >= LEAST_SIDE and math.prod(product) >= LEAST_PRODUCTS
    because = f"tiles are for float32, not {token}" if token != "f32" else small
    if token == "f32" and large:
        because = "the device's workgroups are too small for tiles"
    return decision(op, ONE_OUTPUT, (TILES, SLICES), because, limits)


def by_tiles(op: str, tile: Tile, tiles: int, parts: int, depth: int, limits: Limits) -> Decision:
    """Tell why a product is computed by tiles, in `parts` slices of k."""
    chose, other = (TILES, SLICES) if parts == 1 else (SLICES, TILES)
    few = "fewer than" if tiles < ENOUGH else "at least"
    because = f"{tiles} tiles of {tile}, {few} the {ENOUGH} that fill a device; k = {depth}"
    need = {"invocations": tile.invocations, "shared": tile.shared}
    return decision(op, chose, (other, ONE_OUTPUT), because, limits, **need)


def slices(tiles: int, depth: int, count: int) -> int:
    """Give the number of parts of k that are computed side by side: all its chunks, or one."""
    chunks = -(-depth // CHUNK)
    fits = 4 * count * chunks <= MOST_SLICES_BYTES
    return chunks if tiles < ENOUGH and fits else 1


def add_slices(parts: int, count: int, out: Pointer, limits: Limits) -> tuple[Dispatch, ...]:
    """Add up the planes of scratch buffer 0 in order; nothing where there is only one."""
    if parts == 1:
        return ()
    sums, push = Pointer(~0, 0), pack(count, parts)
    return each_output("matmul.slices", count, (sums, out), push, limits, "f32")

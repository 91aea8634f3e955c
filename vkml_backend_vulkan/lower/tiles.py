"""Products by tiles: which tile, how many workgroups, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from vkml_backend_vulkan.dispatch import Dispatch, Limits, Pointer
from vkml_backend_vulkan.lower.choice import ONE_OUTPUT, SLICES, TILES, decision
from vkml_backend_vulkan.lower.launch import each_output
from vkml_backend_vulkan.lower.layout import pack, spread
from vkml_core.decisions import Decision

CHUNK: Final = 512
"""The contract's chunk of k, at whose multiples it may be cut."""
LEAST_SIDE: Final = 24
"""Rows or columns below which most of a tile would be idle."""
LEAST_SIDE_OF_CHAINS: Final = 8
"""The same for long sums, which one output an invocation would add one by one."""
LONG: Final = 128
LEAST_PRODUCTS: Final = 2**16
ENOUGH: Final = 256
"""Workgroups that fill a large device; with fewer, chunks of k are computed side by side."""
BUSY: Final = 2 / 3
"""Part of a device that must be at work to the end: 144 workgroups on 132 processors take as long
as 264.
"""
AT_WORK: Final = 128
"""Invocations of a processor that hide each other's waiting; with fewer, each has half the rows."""
MOST_ROWS_OF_FEW: Final = 4
"""Rows of an invocation where tiles are few or sums are short (one chunk is not)."""
ADDED: Final = 1.1
"""How much longer a product takes whose slices have to be added up."""
MANY_SLICES: Final = 64
"""Slices from which on a workgroup reads them side by side (matmul_many_slices.comp)."""
RESULTS: Final = 32
"""Results of such a workgroup."""
MOST_SLICES_BYTES: Final = 2**28


@dataclass(frozen=True, slots=True)
class Tile:
    """Results of a workgroup, those of an invocation (so many rows, 4 columns), and the steps of k
    that pass through shared memory at a time (tile.glsl). There is an invocation for each column,
    or several: each of an input gradient reads for one (conv2d_input_grad_tile.comp).
    """

    rows: int
    columns: int
    each_rows: int = 4
    depth: int = 16

    def __post_init__(self) -> None:
        if self.rows % (4 * self.each_rows):
            raise ValueError(f"{self}: its rows are no multiple of 4 · {self.each_rows}")

    @property
    def invocations(self) -> int:
        """Invocations of the workgroup."""
        return self.rows * self.columns // (4 * self.each_rows)

    @property
    def shared(self) -> int:
        """Bytes of shared memory: two buffers of both factors, each row one vector longer."""
        return 2 * self.depth * (self.rows + 4 + self.columns + 4) * 4

    @property
    def constants(self) -> tuple[int, int]:
        """Give the specialisation constants 4 and 5."""
        return self.rows, self.columns

    @property
    def each(self) -> tuple[int, int]:
        """Give the specialisation constants 17 and 18."""
        return self.each_rows, self.depth

    @property
    def cost(self) -> float:
        """Time for a result, in terms of its products alone: the rest is reading, which a tile of
        32 × 32 has twice as much of for each result as one of 64 × 64 (timed on an H200).
        """
        return 1 + 4 * (1 / self.rows + 1 / self.columns)

    def fits(self, limits: Limits) -> bool:
        """Tell whether a device can have such workgroups."""
        return self.invocations <= limits.invocations and self.shared <= limits.shared

    def with_half_the_rows(self) -> Tile:
        """Give the same with twice as many invocations, if each has more than one row."""
        return replace(self, each_rows=max(1, self.each_rows // 2))

    def count(self, rows: int, columns: int) -> int:
        """Count the tiles of a matrix."""
        return -(-rows // self.rows) * -(-columns // self.columns)

    def __str__(self) -> str:
        return f"{self.rows} × {self.columns}"


WINDOWS: Final = (Tile(64, 64), Tile(64, 32), Tile(32, 64), Tile(32, 32), Tile(16, 16, 1))
"""Those of convolutions: the largest first, which read least."""
SHAPES: Final = (Tile(64, 64, 8), *WINDOWS)
"""Those of matrix products, whose addresses take fewer registers."""


class Product(NamedTuple):
    """Products of matrices (rows × depth, depth × columns), whose sums over k are so many chains
    that can be computed side by side and then added up in order.
    """

    rows: int
    columns: int
    depth: int
    matrices: int = 1
    chains: int = 1

    @property
    def is_large(self) -> bool:
        """Whether it is worth tiles."""
        least = LEAST_SIDE_OF_CHAINS if self.depth >= LONG else LEAST_SIDE
        work = self.rows * self.columns * self.depth
        return work >= LEAST_PRODUCTS and min(self.rows, self.columns) >= least

    def tiles(self, tile: Tile) -> int:
        """Count the tiles of all matrices."""
        return self.matrices * tile.count(self.rows, self.columns)

    def workgroups(self, tile: Tile) -> int:
        """Count the workgroups, of which each has a tile, or a slice of its chains."""
        return self.tiles(tile) * slices(self.tiles(tile), self.chains)

    def suits(self, tile: Tile) -> bool:
        """Whether there is enough for a tile whose invocations do much: many tiles, long sums."""
        many = self.tiles(tile) >= ENOUGH and self.depth >= CHUNK
        return many or tile.each_rows <= MOST_ROWS_OF_FEW

    def cost(self, tile: Tile) -> float:
        """Estimate the time, in terms of products of one invocation, on a device that is full."""
        added = ADDED if slices(self.tiles(tile), self.chains) > 1 else 1
        return self.tiles(tile) * tile.rows * tile.columns * tile.cost * added


def tile_of(product: Product, limits: Limits, shapes: Sequence[Tile]) -> Tile | None:
    """Give the tile for float32 products, or None where they are not worth one: that of the least
    cost and waste among those that fill the device, or the smallest where none does. (Its numbers
    were chosen for 32 products that benchmarks/tiles.py timed on an H200; they take 0.7 % longer
    than each with its best, on average.)
    """
    found = [t for t in shapes if t.fits(limits) and product.suits(t)]
    if not found or not product.is_large:
        return None
    full = [t for t in found if fills(product.workgroups(t), limits)]
    best = min(full or found[-1:], key=product.cost)
    half = best.with_half_the_rows()
    few = product.workgroups(best) * best.invocations < limits.filling * AT_WORK
    return half if few and half.fits(limits) else best


def fills(workgroups: int, limits: Limits) -> bool:
    """Tell whether so many workgroups keep a device at work, and most of it to the end."""
    rounds = -(-workgroups // limits.filling)
    return workgroups >= limits.filling * max(1.0, rounds * BUSY)


def not_tiled(op: str, token: str, product: Product, limits: Limits) -> Decision:
    """Tell why a product is not computed by tiles."""
    small = f"{' × '.join(map(str, product[:3]))} is too little work for a tile"
    because = f"tiles are for float32, not {token}" if token != "f32" else small
    if token == "f32" and product.is_large:
        because = "the device's workgroups are too small for tiles"
    return decision(op, ONE_OUTPUT, (TILES, SLICES), because, limits)


def by_tiles(op: str, tile: Tile, tiles: int, parts: int, depth: int, limits: Limits) -> Decision:
    """Tell why a product is computed by tiles, in `parts` slices of k."""
    chose, other = (TILES, SLICES) if parts == 1 else (SLICES, TILES)
    few = "fewer than" if tiles < ENOUGH else "at least"
    because = f"{tiles} tiles of {tile}, {few} the {ENOUGH} that fill a device; k = {depth}"
    need = {"invocations": tile.invocations, "shared": tile.shared}
    return decision(op, chose, (other, ONE_OUTPUT), because, limits, **need)


def slices(tiles: int, chains: int, count: int = 0) -> int:
    """Give the number of sums for each of `count` results that are computed side by side: all, or
    one. Two take as long one after the other as their addition would.
    """
    fits = 4 * count * chains <= MOST_SLICES_BYTES
    return chains if chains > 2 and tiles < ENOUGH and fits else 1


def add_slices(parts: int, count: int, out: Pointer, limits: Limits) -> tuple[Dispatch, ...]:
    """Add up the planes of scratch buffer 0 in order; nothing where there is only one."""
    if parts == 1:
        return ()
    pointers, push = (Pointer(~0, 0), out), pack(count, parts)
    if parts < MANY_SLICES:
        return each_output("matmul.slices", count, pointers, push, limits, "f32")
    local = min(256, limits.invocations) // RESULTS * RESULTS
    groups = spread(-(-count // RESULTS), limits)
    return (Dispatch("matmul.slices.many", groups, pointers, push, (local,)),)

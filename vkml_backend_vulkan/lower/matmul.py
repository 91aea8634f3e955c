"""Lowering of the matrix product: which kernel multiplies which shape.

Every kernel gives the same bits, so the choice is one of speed alone: one output at a time for
every dtype, layout and size; tiles for large float32 matrices; and where those have too few tiles
to fill a device, the chunks of k side by side, added up by a second dispatch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from vkml_backend_vulkan.dispatch import Dispatch, Limits, Lowered, Pointer
from vkml_backend_vulkan.lower.choice import ONE_OUTPUT, SLICES, TILES, decision
from vkml_backend_vulkan.lower.launch import Read, each_output, read
from vkml_backend_vulkan.lower.layout import only_call, pack, padded, spread
from vkml_backend_vulkan.shaders.table import TOKENS
from vkml_core.decisions import Decision
from vkml_core.plan import Slot, Step
from vkml_core.shapes import size

TILE: Final = 64
"""Rows and columns of a tile (tile.glsl)."""
TILE_INVOCATIONS: Final = 256
TILE_DEPTH: Final = 16
"""Steps of k that pass through shared memory at a time."""
TILE_SHARED: Final = 2 * 2 * TILE_DEPTH * (TILE + 4) * 4
"""Bytes of shared memory: two buffers of two factors, 16 steps of k with a padded row each."""
CHUNK: Final = 512
"""The contract's chunk of k, at whose multiples it may be cut."""
LEAST_SIDE: Final = 24
"""Rows or columns below which most of a tile would be idle."""
LEAST_PRODUCTS: Final = 2**18
ENOUGH_TILES: Final = 256
"""Workgroups that fill a large device; with fewer, chunks of k are computed side by side."""
MOST_SLICES_BYTES: Final = 2**28
OPS: Final = frozenset({"matmul"})


def lower(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Multiply (…, M, K) by (…, K, N)."""
    a, b, call = read(step, 0, slots), read(step, 1, slots), only_call(step)
    token, out = TOKENS[call.dtype], Pointer(step.write, 0)
    batch, rows, depth, columns = *a.shape[1:], b.shape[3]
    if token == "f32" and tiled(rows, columns, depth, limits):
        return _by_tiles(a, b, out, limits)
    why = not_tiled("matmul", token, (rows, columns, depth), limits)
    count = size(call.shape)
    push = pack(*a.without(), *b.without(), count, batch, rows, columns, depth)
    pointers = (a.pointer, b.pointer, out)
    made = each_output(f"matmul.{token}", count, pointers, push, limits, token)
    return Lowered(made, decision=why)


def tiled(rows: int, columns: int, depth: int, limits: Limits) -> bool:
    """Whether a float32 product is worth tiles, and the device has room for them."""
    room = limits.invocations >= TILE_INVOCATIONS and limits.shared >= TILE_SHARED
    large = rows * columns * depth >= LEAST_PRODUCTS
    return room and large and min(rows, columns) >= LEAST_SIDE


def not_tiled(op: str, token: str, product: Sequence[int], limits: Limits) -> Decision:
    """Tell why a product is not computed by tiles."""
    small = f"{' × '.join(map(str, product))} is too little work for a tile of {TILE} × {TILE}"
    large = min(product[:2]) >= LEAST_SIDE and math.prod(product) >= LEAST_PRODUCTS
    because = f"tiles are for float32, not {token}" if token != "f32" else small
    if token == "f32" and large:
        because = "the device's workgroups are too small for tiles"
    return decision(op, ONE_OUTPUT, (TILES, SLICES), because, limits)


def by_tiles(op: str, tiles: int, parts: int, depth: int, limits: Limits) -> Decision:
    """Tell why a product is computed by tiles, in `parts` slices of k."""
    chose, other = (TILES, SLICES) if parts == 1 else (SLICES, TILES)
    few = "fewer than" if tiles < ENOUGH_TILES else "at least"
    because = f"{tiles} tiles, {few} the {ENOUGH_TILES} that fill a device; k = {depth}"
    need = {"invocations": TILE_INVOCATIONS, "shared": TILE_SHARED}
    return decision(op, chose, (other, ONE_OUTPUT), because, limits, **need)


def slices(tiles: int, depth: int, count: int) -> int:
    """Give the number of parts of k that are computed side by side: all its chunks, or one."""
    chunks = -(-depth // CHUNK)
    fits = 4 * count * chunks <= MOST_SLICES_BYTES
    return chunks if tiles < ENOUGH_TILES and fits else 1


def tiles_of(rows: int, columns: int) -> int:
    """Count the tiles of a matrix."""
    return -(-rows // TILE) * -(-columns // TILE)


def add_slices(parts: int, count: int, out: Pointer, limits: Limits) -> tuple[Dispatch, ...]:
    """Add up the planes of scratch buffer 0 in order; nothing where there is only one."""
    if parts == 1:
        return ()
    sums, push = Pointer(~0, 0), pack(count, parts)
    return each_output("matmul.slices", count, (sums, out), push, limits, "f32")


def _by_tiles(a: Read, b: Read, out: Pointer, limits: Limits) -> Lowered:
    outer, batch, rows, depth = a.shape
    columns = b.shape[3]
    count = outer * batch * rows * columns
    tiles = outer * batch * tiles_of(rows, columns)
    parts = slices(tiles, depth, count)
    target = out if parts == 1 else Pointer(~0, 0)
    push = pack(*a.without(), *b.without(), count, *a.shape[:3], columns, depth, parts)
    whole = not (rows % TILE or columns % TILE or depth % TILE_DEPTH)
    constants = (TILE_INVOCATIONS, 0, int(a.strides[3] == 1), int(b.strides[2] == 1), int(whole))
    groups = spread(tiles * parts, limits)
    multiply = Dispatch("matmul.tile", groups, (a.pointer, b.pointer, target), push, constants)
    scratch = () if parts == 1 else (padded(4 * count * parts),)
    why = by_tiles("matmul", tiles, parts, depth, limits)
    return Lowered((multiply, *add_slices(parts, count, out, limits)), scratch, why)

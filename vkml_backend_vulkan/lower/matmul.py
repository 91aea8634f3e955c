"""Lowering of the matrix product: which kernel multiplies which shape.

Every kernel gives the same bits, so the choice is one of speed alone: one output at a time for
every dtype, layout and size; tiles for large float32 matrices; and where those have too few tiles
to fill a device, the chunks of k side by side, added up by a second dispatch.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vkml_backend_vulkan.dispatch import Dispatch, Limits, Lowered, Pointer
from vkml_backend_vulkan.lower.launch import Read, each_output, in_fours, read
from vkml_backend_vulkan.lower.layout import only_call, pack, padded, spread
from vkml_backend_vulkan.lower.tiles import (
    CHUNK,
    SHAPES,
    Product,
    Tile,
    add_slices,
    by_tiles,
    not_tiled,
    slices,
    tile_of,
)
from vkml_backend_vulkan.shaders.table import TOKENS
from vkml_backend_vulkan.shaders.tables.conv import FOURS
from vkml_core.plan import Slot, Step
from vkml_core.shapes import size

OPS: Final = frozenset({"matmul"})


def lower(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Multiply (…, M, K) by (…, K, N)."""
    a, b, call = read(step, 0, slots), read(step, 1, slots), only_call(step)
    token, out = TOKENS[call.dtype], Pointer(step.write, 0)
    batch, rows, depth, columns = *a.shape[1:], b.shape[3]
    product = Product(rows, columns, depth, a.shape[0] * batch, -(-depth // CHUNK))
    tile = tile_of(product, limits, SHAPES) if token == "f32" else None
    if tile is not None:
        return _by_tiles(tile, a, b, out, limits)
    why = not_tiled("matmul", token, product, limits)
    count = size(call.shape)
    push = pack(*a.without(), *b.without(), count, batch, rows, columns, depth)
    pointers = (a.pointer, b.pointer, out)
    made = each_output(f"matmul.{token}", count, pointers, push, limits, token)
    return Lowered(made, decision=why)


def _by_tiles(tile: Tile, a: Read, b: Read, out: Pointer, limits: Limits) -> Lowered:
    outer, batch, rows, depth = a.shape
    columns = b.shape[3]
    count = outer * batch * rows * columns
    tiles = outer * batch * tile.count(rows, columns)
    parts = slices(tiles, -(-depth // CHUNK), count)
    target = out if parts == 1 else Pointer(~0, 0)
    push = pack(*a.without(), *b.without(), count, *a.shape[:3], columns, depth, parts)
    whole = not (rows % tile.rows or columns % tile.columns or depth % tile.depth)
    along = int(a.strides[3] == 1), int(b.strides[2] == 1)
    fours = in_fours(a, 3 if along[0] else 2), in_fours(b, 2 if along[1] else 3)
    constants = (
        tile.invocations,
        0,
        *along,
        *tile.constants,
        int(whole),
        *fours,
        *(0,) * 8,
        *tile.each,
    )
    groups = spread(tiles * parts, limits)
    name = "matmul.tile" + ("" if columns % 4 else FOURS)
    multiply = Dispatch(name, groups, (a.pointer, b.pointer, target), push, constants)
    scratch = () if parts == 1 else (padded(4 * count * parts),)
    why = by_tiles("matmul", tile, tiles, parts, depth, limits)
    return Lowered((multiply, *add_slices(parts, count, out, limits)), scratch, why)

"""Matrix products: panels of B packed once, then tiles of the result, chunk of k by chunk of k.

Contract, rule 19: a chunk of 512 is summed from +0 in k order, chunk results are added in order.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from vkml_backend_numba.compiling import entry, kernel
from vkml_backend_numba.kernels.blocks import canonical
from vkml_backend_numba.kernels.memory import f32, i64
from vkml_backend_numba.kernels.thread import tell
from vkml_backend_numba.kernels.tile import COLS, ROWS, tile

CHUNK: Final = 512
_TILE: Final = ROWS * COLS * 4
SIDE: Final = 16
"""Rows and columns that are turned together when a panel is packed from a transposed matrix."""


@kernel
def pack_panel(b, down, right, size, cols, target):
    """Pack `size` rows of COLS columns of a matrix with strides `down` and `right`; columns from
    `cols` on are 0.
    """
    out = f32(target, size * COLS)
    if right == 1 and cols == COLS:
        for k in range(size):
            row = f32(b + k * down * 4, COLS)
            for j in range(COLS):
                out[k * COLS + j] = row[j]
        return
    if cols < COLS:
        for i in range(size * COLS):
            out[i] = np.float32(0)
    for start in range(0, size, SIDE):
        stop = min(start + SIDE, size)
        for j in range(cols):
            for k in range(start, stop):
                out[k * COLS + j] = f32(b + (k * down + j * right) * 4, 1)[0]


@entry
def pack(words, addresses, task, first, last, scratch, thread):
    """Pack one panel of one matrix. Words: slot, byte offset, strides of batch, k and column,
    K, columns, slot of the packed panels, byte offset there.
    """
    size, n = words[5], words[6]
    panels = (n + COLS - 1) // COLS
    batch, panel = task // panels, task % panels
    b = addresses[words[0]] + words[1] + batch * words[2] * 4
    down, right = words[3], words[4]
    target = addresses[words[7]] + words[8] + task * size * COLS * 4
    cols = min(COLS, n - panel * COLS)
    pack_panel(b + panel * COLS * right * 4, down, right, size, cols, target)


@kernel
def add_tile(tiles, out, pitch, rows, cols, first):
    """Put a tile where its chunk is the first, else add it."""
    for i in range(rows):
        source, target = f32(tiles + i * COLS * 4, cols), f32(out + i * pitch * 4, cols)
        if first:
            for j in range(cols):
                target[j] = source[j]
        else:
            for j in range(cols):
                target[j] += source[j]


@kernel
def _pack_rows(a, down, right, rows, size, target):
    """Pack panels of ROWS rows as [k][row], the last row again where rows are missing."""
    for panel in range((rows + ROWS - 1) // ROWS):
        out = f32(target + panel * size * ROWS * 4, size * ROWS)
        for k in range(size):
            for i in range(ROWS):
                row = min(panel * ROWS + i, rows - 1)
                out[k * ROWS + i] = f32(a + (row * down + k * right) * 4, 1)[0]


@entry
def product(words, addresses, task, first, last, scratch, thread):
    """Compute a block of rows of one product and give its range of elements. Words: slot, byte
    offset and strides (batch, row, k) of A; slot and byte offset of packed B; M, N, K; rows of a
    block; slot of the result.
    """
    a_batch, a_row, a_k = words[2], words[3], words[4]
    m, n, size, block = words[7], words[8], words[9], words[10]
    blocks, panels = (m + block - 1) // block, (n + COLS - 1) // COLS
    batch, top = task // blocks, task % blocks * block
    rows = min(block, m - top)
    a = addresses[words[0]] + words[1] + (batch * a_batch + top * a_row) * 4
    b = addresses[words[5]] + words[6] + batch * panels * size * COLS * 4
    out = addresses[words[11]] + (batch * m + top) * n * 4
    tables = i64(scratch, ROWS + 2 * CHUNK)
    along, down = scratch + ROWS * 8, scratch + (ROWS + CHUNK) * 8
    tiles = scratch + (ROWS + 2 * CHUNK) * 8
    packed = tiles + _TILE
    for k in range(CHUNK):
        tables[ROWS + k] = k if a_k == 1 else k * ROWS
        tables[ROWS + CHUNK + k] = k * COLS
    for start in range(0, size, CHUNK):
        length = min(CHUNK, size - start)
        if a_k != 1:
            _pack_rows(a + start * a_k * 4, a_row, a_k, rows, length, packed)
        for j in range(panels):
            panel = b + (j * size + start) * COLS * 4
            cols = min(COLS, n - j * COLS)
            for i in range(0, rows, ROWS):
                for r in range(ROWS):
                    tables[r] = min(i + r, rows - 1) * a_row if a_k == 1 else r
                left = a + start * 4 if a_k == 1 else packed + i * length * 4
                tile(left, scratch, along, panel, down, 0, length, tiles)
                place = out + (i * n + j * COLS) * 4
                add_tile(tiles, place, n, min(ROWS, rows - i), cols, start == 0)
    canonical(out, out, rows * n)
    tell(thread, (batch * m + top) * n, (batch * m + top + rows) * n)

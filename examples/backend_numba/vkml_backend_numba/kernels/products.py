"""Matrix products: panels of both operands packed, then tiles of the result, chunk of k by chunk.

Contract, rule 19: a chunk of 512 is summed from +0 in k order, chunk results are added in order.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from vkml_backend_numba.compiling import entry, kernel
from vkml_backend_numba.kernels.blocks import canonical, copy
from vkml_backend_numba.kernels.memory import f32, i64
from vkml_backend_numba.kernels.thread import tell
from vkml_backend_numba.kernels.tile import COLS, ROWS, tile

CHUNK: Final = 512
TILE: Final = ROWS * COLS * 4
"""Bytes of a tile."""
SIDE: Final = 16
"""Rows and columns that are turned together when a panel is packed from a transposed matrix."""


@kernel
def pack_panel(source, down, right, size, cols, width, target):
    """Pack `size` rows of `width` columns of a matrix with strides `down` and `right`; columns from
    `cols` on are 0.
    """
    out = f32(target, size * width)
    if right == 1 and cols == width:
        for k in range(size):
            copy(f32(source + k * down * 4, width), f32(target + k * width * 4, width), width)
        return
    if cols < width:
        for i in range(size * width):
            out[i] = np.float32(0)
    for start in range(0, size, SIDE):
        stop = min(start + SIDE, size)
        for j in range(cols):
            for k in range(start, stop):
                out[k * width + j] = f32(source + (k * down + j * right) * 4, 1)[0]


@entry
def pack(words, addresses, task, first, last, scratch, thread):
    """Pack one panel of one matrix. Words: slot, byte offset, strides of batch, k and column,
    K, columns, slot of the packed panels, columns of a panel.
    """
    size, n, width = words[5], words[6], words[8]
    panels = (n + width - 1) // width
    batch, panel = task // panels, task % panels
    source = addresses[words[0]] + words[1] + batch * words[2] * 4
    down, right = words[3], words[4]
    target = addresses[words[7]] + task * size * width * 4
    cols = min(width, n - panel * width)
    pack_panel(source + panel * width * right * 4, down, right, size, cols, width, target)


@kernel
def count(place, n, step):
    """Write a table of offsets: n multiples of a step from 0 on."""
    table = i64(place, n)
    for k in range(n):
        table[k] = k * step


@kernel
def add_tile(tiles, out, pitch, rows, cols, first):
    """Put a tile where its chunk is the first, else add it."""
    for i in range(rows):
        source, target = f32(tiles + i * COLS * 4, cols), f32(out + i * pitch * 4, cols)
        if first:
            copy(source, target, cols)
        else:
            for j in range(cols):
                target[j] += source[j]


@entry
def product(words, addresses, task, first, last, scratch, thread):
    """Compute a block of rows of one product. Words: slot, byte offset and strides (batch, row, k)
    of A; slot of packed B; M, N, K; rows of a block; slot of the result.
    """
    a_batch, a_row, a_k = words[2], words[3], words[4]
    m, n, size, block = words[6], words[7], words[8], words[9]
    blocks, panels = (m + block - 1) // block, (n + COLS - 1) // COLS
    batch, top = task // blocks, task % blocks * block
    rows = min(block, m - top)
    a = addresses[words[0]] + words[1] + (batch * a_batch + top * a_row) * 4
    b = addresses[words[5]] + batch * panels * size * COLS * 4
    out = addresses[words[10]] + (batch * m + top) * n * 4
    along, down = scratch + ROWS * 8, scratch + (ROWS + CHUNK) * 8
    tiles = scratch + (ROWS + 2 * CHUNK) * 8
    packed = tiles + TILE
    count(scratch, ROWS, 1)
    count(along, CHUNK, ROWS)
    count(down, CHUNK, COLS)
    for start in range(0, size, CHUNK):
        length = min(CHUNK, size - start)
        for i in range(0, rows, ROWS):
            source, left = a + (i * a_row + start * a_k) * 4, packed + i * length * 4
            pack_panel(source, a_k, a_row, length, min(ROWS, rows - i), ROWS, left)
        for j in range(panels):
            panel = b + (j * size + start) * COLS * 4
            cols = min(COLS, n - j * COLS)
            for i in range(0, rows, ROWS):
                tile(packed + i * length * 4, scratch, along, panel, down, 0, length, tiles)
                place = out + (i * n + j * COLS) * 4
                add_tile(tiles, place, n, min(ROWS, rows - i), cols, start == 0)
    canonical(out, out, rows * n)
    tell(thread, (batch * m + top) * n, (batch * m + top + rows) * n)

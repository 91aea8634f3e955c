"""The gradient of a convolution's weights: one chain over all images and places, in chunks of 512.

The images are padded and the gradients turned to [place][output] once; then a tile reads the pixels
that a tap sees where they lie.
"""

from __future__ import annotations

from typing import Final

from vkml_backend_numba.compiling import entry
from vkml_backend_numba.kernels.convolution import pad_image
from vkml_backend_numba.kernels.memory import f32, i64
from vkml_backend_numba.kernels.products import CHUNK, TILE, add_tile, count, pack_panel
from vkml_backend_numba.kernels.scalars import one_nan
from vkml_backend_numba.kernels.tile import COLS, ROWS, tile


@entry
def pad_images(words, addresses, task, first, last, scratch, thread):
    """Pad one image for a weight gradient. Words: slots, C, H, W, top, left, height, width."""
    c, h, w = words[2], words[3], words[4]
    high, wide = words[7], words[8]
    source = addresses[words[0]] + task * c * h * w * 4
    target = addresses[words[1]] + task * (c * high * wide + COLS) * 4
    pad_image(source, c, h, w, words[5], words[6], high, wide, target)


GRAD: Final = 16
"""Words before the table of a weight gradient."""


@entry
def weight_grad(words, addresses, task, first, last, scratch, thread):
    """Compute rows of one panel of a weight gradient. Words: slots of padded images, of packed
    gradients, of the result; N, elements of a padded image, its width; groups, outputs of a group,
    taps (C/groups · kh · kw), oh, ow, strides, taps of a task, elements between groups; then the
    offset of each tap.
    """
    n, each, wide = words[3], words[4], words[5]
    outputs, taps = words[7], words[8]
    oh, ow, sh, sw, block = (
        words[9],
        words[10],
        words[11],
        words[12],
        words[13],
    )
    panels, blocks = (outputs + COLS - 1) // COLS, (taps + block - 1) // block
    group, rest = task // (panels * blocks), task % (panels * blocks)
    panel, top = rest // blocks, rest % blocks * block
    rows, size, places = min(block, taps - top), n * oh * ow, oh * ow
    images = addresses[words[0]] + group * words[14] * 4
    packed = addresses[words[1]] + (group * panels + panel) * size * COLS * 4
    tables = i64(scratch, ROWS + 2 * CHUNK)
    along, down = scratch + ROWS * 8, scratch + (ROWS + CHUNK) * 8
    tiles = scratch + (ROWS + 2 * CHUNK) * 8
    sums = tiles + TILE
    count(down, CHUNK, COLS)
    for start in range(0, size, CHUNK):
        length = min(CHUNK, size - start)
        image, y, x = start // places, start % places // ow, start % ow
        for k in range(length):
            tables[ROWS + k] = image * each + y * sh * wide + x * sw
            x += 1
            if x == ow:
                x = 0
                y += 1
                if y == oh:
                    y = 0
                    image += 1
        for i in range(0, rows, ROWS):
            for r in range(ROWS):
                tables[r] = words[GRAD + top + min(i + r, rows - 1)]
            tile(images, scratch, along, packed + start * COLS * 4, down, 0, length, tiles)
            add_tile(tiles, sums + i * COLS * 4, COLS, min(ROWS, rows - i), COLS, start == 0)
    out = addresses[words[2]]
    for j in range(min(COLS, outputs - panel * COLS)):
        row = (group * outputs + panel * COLS + j) * taps + top
        target, found = f32(out + row * 4, rows), f32(sums, rows * COLS)
        for i in range(rows):
            target[i] = one_nan(found[i * COLS + j])


@entry
def pack_gradients(words, addresses, task, first, last, scratch, thread):
    """Turn one image's gradients to [place][output], in panels. Words: slots, N, groups, outputs
    of a group, places.
    """
    n, groups, outputs, places = words[2], words[3], words[4], words[5]
    panels = (outputs + COLS - 1) // COLS
    source = addresses[words[0]] + task * groups * outputs * places * 4
    for group in range(groups):
        for panel in range(panels):
            place = (group * panels + panel) * n * places + task * places
            target = addresses[words[1]] + place * COLS * 4
            g = source + (group * outputs + panel * COLS) * places * 4
            cols = min(COLS, outputs - panel * COLS)
            pack_panel(g, 1, places, places, cols, COLS, target)

"""Convolutions without columns in memory: tiles read windows where they lie in padded images.

With a stride of 1 the windows of neighbouring places lie side by side in the padded image, whatever
the tap: a tile reads them at the tap's offset. So the places of an image are counted in rows of the
padded width, and what lies over the edge is left out when results are stored. With other strides
one image's columns are made in scratch memory.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from vkml_backend_numba.compiling import kernel
from vkml_backend_numba.kernels.blocks import canonical
from vkml_backend_numba.kernels.elementwise import REFUSED
from vkml_backend_numba.kernels.memory import f32, i32, i64
from vkml_backend_numba.kernels.products import CHUNK, add_tile
from vkml_backend_numba.kernels.tile import COLS, ROWS, tile

_TILE: Final = ROWS * COLS * 4


@kernel
def pad_image(source, c, h, w, top, left, high, wide, target):  # type: ignore[no-untyped-def]
    """Copy c planes h × w into zeros high × wide, from (top, left) on; and a tile of zeros."""
    out = f32(target, c * high * wide + COLS)
    for i in range(c * high * wide + COLS):
        out[i] = np.float32(0)
    for plane in range(c):
        for y in range(h):
            xs = f32(source + (plane * h + y) * w * 4, w)
            ds = f32(target + ((plane * high + y + top) * wide + left) * 4, w)
            for x in range(w):
                ds[x] = xs[x]


@kernel
def _columns(image, words, at, target):  # type: ignore[no-untyped-def]
    """Make the columns of a padded image: a row of places for each k, by the table of offsets."""
    size, oh, ow = words[at + 12], words[at + 13], words[at + 14]
    sh, sw, wide = words[at + 15], words[at + 16], words[at + 9]
    for k in range(words[at + 19]):
        base = image + words[at + CONV + k] * 4
        for y in range(oh):
            ds = f32(target + (k * oh + y) * ow * 4, ow)
            for x in range(ow):
                ds[x] = f32(base + (y * sh * wide + x * sw) * 4, 1)[0]
    tail = f32(target + words[at + 19] * oh * ow * 4, COLS)
    for i in range(COLS):
        tail[i] = np.float32(0)
    return size


CONV: Final = 24
"""Words before the table of a convolution."""


@kernel
def convolve(words, at, addresses, task, scratch):  # type: ignore[no-untyped-def]
    """Convolve one image and give its range of elements. Words: slots of images, weights, result;
    C, H, W, top, left, padded height and width; groups, rows (outputs of a group), k of a group,
    oh, ow, strides, the chunk of k, whether columns are made, k of all groups, strides of the
    weights (group, row, k), elements between groups in the padded image, unused; then offsets of k.
    """
    c, h, w = words[at + 3], words[at + 4], words[at + 5]
    high, wide = words[at + 8], words[at + 9]
    groups, outputs, size = words[at + 10], words[at + 11], words[at + 12]
    oh, ow, chunk, made = words[at + 13], words[at + 14], words[at + 17], words[at + 18]
    by_group, by_row, by_k = words[at + 20], words[at + 21], words[at + 22]
    tables = i64(scratch, ROWS + 2 * size)
    along, down, tiles = scratch + ROWS * 8, scratch + (ROWS + size) * 8, 0
    tiles = scratch + (ROWS + 2 * size) * 8
    image = tiles + _TILE
    source = addresses[words[at]] + task * c * h * w * 4
    pad_image(source, c, h, w, words[at + 6], words[at + 7], high, wide, image)
    sums = image + (c * high * wide + COLS) * 4
    pitch, right = wide, image
    if made:
        right = sums
        sums = right + (words[at + 19] * oh * ow + COLS) * 4
        _columns(image, words, at, right)
        pitch = ow
    places = (oh - 1) * pitch + ow
    across = (places + COLS - 1) // COLS * COLS
    out = addresses[words[at + 2]] + task * groups * outputs * oh * ow * 4
    for k in range(size):
        tables[ROWS + k] = k * by_k
        tables[ROWS + size + k] = k * oh * ow if made else words[at + CONV + k]
    for group in range(groups):
        weights = addresses[words[at + 1]] + group * by_group * 4
        shift = group * (size * oh * ow if made else words[at + 23])
        for start in range(0, size, chunk):
            stop = min(size, start + chunk)
            for i in range(0, outputs, ROWS):
                for r in range(ROWS):
                    tables[r] = min(i + r, outputs - 1) * by_row
                for j in range(0, across, COLS):
                    panel = right + (shift + j) * 4
                    tile(weights, scratch, along, panel, down, start, stop, tiles)
                    place = sums + (i * across + j) * 4
                    add_tile(tiles, place, across, min(ROWS, outputs - i), COLS, start == 0)
        for o in range(outputs):
            for y in range(oh):
                place = out + ((group * outputs + o) * oh + y) * ow * 4
                canonical(sums + (o * across + y * pitch) * 4, place, ow)
    each = groups * outputs * oh * ow
    return task * each, (task + 1) * each


@kernel
def refuse_infinite(words, at, addresses, status):  # type: ignore[no-untyped-def]
    """Refuse weights that are not finite: 0 times such a weight is no 0. Words: slot, elements."""
    bits = i32(addresses[words[at]], words[at + 1])
    found = 0
    for i in range(words[at + 1]):
        found |= (bits[i] & 0x7F800000) == 0x7F800000
    if found:
        i64(status, 1)[0] = REFUSED


@kernel
def pad_images(words, at, addresses, task):  # type: ignore[no-untyped-def]
    """Pad one image for a weight gradient. Words: slots, C, H, W, top, left, height, width."""
    c, h, w = words[at + 2], words[at + 3], words[at + 4]
    high, wide = words[at + 7], words[at + 8]
    source = addresses[words[at]] + task * c * h * w * 4
    target = addresses[words[at + 1]] + task * (c * high * wide + COLS) * 4
    pad_image(source, c, h, w, words[at + 5], words[at + 6], high, wide, target)


GRAD: Final = 16
"""Words before the table of a weight gradient."""


@kernel
def weight_grad(words, at, addresses, task, scratch):  # type: ignore[no-untyped-def]
    """Compute rows of one panel of a weight gradient. Words: slots of padded images, of packed
    gradients, of the result; N, elements of a padded image, its width; groups, outputs of a group,
    taps (C/groups · kh · kw), oh, ow, strides, taps of a task, elements between groups; then the
    offset of each tap.
    """
    n, each, wide = words[at + 3], words[at + 4], words[at + 5]
    outputs, taps = words[at + 7], words[at + 8]
    oh, ow, sh, sw, block = (
        words[at + 9], words[at + 10], words[at + 11], words[at + 12], words[at + 13],
    )
    panels, blocks = (outputs + COLS - 1) // COLS, (taps + block - 1) // block
    group, rest = task // (panels * blocks), task % (panels * blocks)
    panel, top = rest // blocks, rest % blocks * block
    rows, size, places = min(block, taps - top), n * oh * ow, oh * ow
    images = addresses[words[at]] + group * words[at + 14] * 4
    packed = addresses[words[at + 1]] + (group * panels + panel) * size * COLS * 4
    tables = i64(scratch, ROWS + 2 * CHUNK)
    along, down = scratch + ROWS * 8, scratch + (ROWS + CHUNK) * 8
    tiles = scratch + (ROWS + 2 * CHUNK) * 8
    sums = tiles + _TILE
    for k in range(CHUNK):
        tables[ROWS + CHUNK + k] = k * COLS
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
                tables[r] = words[at + GRAD + top + min(i + r, rows - 1)]
            tile(images, scratch, along, packed + start * COLS * 4, down, 0, length, tiles)
            add_tile(tiles, sums + i * COLS * 4, COLS, min(ROWS, rows - i), COLS, start == 0)
    out = addresses[words[at + 2]]
    for j in range(min(COLS, outputs - panel * COLS)):
        row = (group * outputs + panel * COLS + j) * taps + top
        target, found = f32(out + row * 4, rows), f32(sums, rows * COLS)
        for i in range(rows):
            v = found[i * COLS + j]
            target[i] = v if v == v else np.float32(np.nan)


@kernel
def pack_gradients(words, at, addresses, task):  # type: ignore[no-untyped-def]
    """Turn one image's gradients to [place][output], in panels. Words: slots, N, groups, outputs
    of a group, places.
    """
    n, groups, outputs, places = words[at + 2], words[at + 3], words[at + 4], words[at + 5]
    panels = (outputs + COLS - 1) // COLS
    source = addresses[words[at]] + task * groups * outputs * places * 4
    for group in range(groups):
        for panel in range(panels):
            first = (group * panels + panel) * n * places + task * places
            out = f32(addresses[words[at + 1]] + first * COLS * 4, places * COLS)
            cols = min(COLS, outputs - panel * COLS)
            g = f32(source + (group * outputs + panel * COLS) * places * 4, cols * places)
            for start in range(0, places, 16):
                stop = min(start + 16, places)
                for j in range(cols):
                    for p in range(start, stop):
                        out[p * COLS + j] = g[j * places + p]
                for j in range(cols, COLS):
                    for p in range(start, stop):
                        out[p * COLS + j] = np.float32(0)

"""Convolutions without columns in memory: tiles read windows where they lie in padded images.

With a stride of 1 the windows of neighbouring places lie side by side in the padded image, whatever
the tap: a tile reads them at the tap's offset. So the places of an image are counted in rows of the
padded width, and what lies over the edge is left out when results are stored. With other strides,
and where rows are so short that too much would be left out, one image's columns are made in scratch
memory, where they stay in the cache.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from vkml_backend_numba.compiling import entry, kernel
from vkml_backend_numba.kernels.blocks import canonical, copy
from vkml_backend_numba.kernels.memory import f32, i32, i64
from vkml_backend_numba.kernels.products import TILE, add_tile, count
from vkml_backend_numba.kernels.thread import refuse, tell
from vkml_backend_numba.kernels.tile import COLS, ROWS, tile


@kernel
def pad_image(source, c, h, w, top, left, high, wide, target):
    """Copy c planes h × w into zeros high × wide, from (top, left) on; and a tile of zeros."""
    out = f32(target, c * high * wide + COLS)
    for i in range(c * high * wide + COLS):
        out[i] = np.float32(0)
    for plane in range(c):
        for y in range(h):
            place = target + ((plane * high + y + top) * wide + left) * 4
            copy(f32(source + (plane * h + y) * w * 4, w), f32(place, w), w)


@kernel
def _columns(image, words, target):
    """Make the columns of a padded image: a row of places for each k, by the table of offsets."""
    oh, ow = words[13], words[14]
    sh, sw, wide = words[15], words[16], words[9]
    for k in range(words[19]):
        base = image + words[CONV + k] * 4
        for y in range(oh):
            ds = f32(target + (k * oh + y) * ow * 4, ow)
            row = base + y * sh * wide * 4
            if sw == 1:
                copy(f32(row, ow), ds, ow)
            else:
                for x in range(ow):
                    ds[x] = f32(row + x * sw * 4, 1)[0]
    tail = f32(target + words[19] * oh * ow * 4, COLS)
    for i in range(COLS):
        tail[i] = np.float32(0)


CONV: Final = 21
"""Words before the table of a convolution."""


@entry
def convolve(words, addresses, task, first, last, scratch, thread):
    """Convolve one image. Words: slots of images, packed weights, result; C, H, W, top, left,
    padded height and width; groups, rows (outputs of a group), k of a group, oh, ow, strides, the
    chunk of k, whether columns are made, k of all groups, elements between groups in the padded
    image; then offsets of k.
    """
    c, h, w = words[3], words[4], words[5]
    high, wide = words[8], words[9]
    groups, outputs, size = words[10], words[11], words[12]
    oh, ow, chunk, made = words[13], words[14], words[17], words[18]
    along, down = scratch + ROWS * 8, scratch + (ROWS + size) * 8
    tiles = scratch + (ROWS + 2 * size) * 8
    image = tiles + TILE
    source = addresses[words[0]] + task * c * h * w * 4
    pad_image(source, c, h, w, words[6], words[7], high, wide, image)
    sums = image + (c * high * wide + COLS) * 4
    pitch, right = wide, image
    if made:
        right = sums
        sums = right + (words[19] * oh * ow + COLS) * 4
        _columns(image, words, right)
        pitch = ow
    places = (oh - 1) * pitch + ow
    across = (places + COLS - 1) // COLS * COLS
    out = addresses[words[2]] + task * groups * outputs * oh * ow * 4
    panels = (outputs + ROWS - 1) // ROWS
    count(scratch, ROWS, 1)
    count(along, size, ROWS)
    offsets = i64(down, size)
    for k in range(size):
        offsets[k] = k * oh * ow if made else words[CONV + k]
    for group in range(groups):
        weights = addresses[words[1]] + group * panels * size * ROWS * 4
        shift = group * (size * oh * ow if made else words[20])
        for start in range(0, size, chunk):
            stop = min(size, start + chunk)
            for i in range(0, outputs, ROWS):
                left = weights + i * size * 4
                for j in range(0, across, COLS):
                    panel = right + (shift + j) * 4
                    tile(left, scratch, along, panel, down, start, stop, tiles)
                    place = sums + (i * across + j) * 4
                    add_tile(tiles, place, across, min(ROWS, outputs - i), COLS, start == 0)
        for o in range(outputs):
            for y in range(oh):
                place = out + ((group * outputs + o) * oh + y) * ow * 4
                canonical(sums + (o * across + y * pitch) * 4, place, ow)
    each = groups * outputs * oh * ow
    tell(thread, task * each, (task + 1) * each)


@entry
def refuse_infinite(words, addresses, task, first, last, scratch, thread):
    """Refuse weights that are not finite: 0 times such a weight is no 0. Words: slot, elements."""
    bits = i32(addresses[words[0]], words[1])
    found = 0
    for i in range(words[1]):
        found |= (bits[i] & 0x7F800000) == 0x7F800000
    if found:
        refuse(thread)

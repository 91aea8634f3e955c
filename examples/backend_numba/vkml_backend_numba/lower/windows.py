"""Convolutions, their gradients and pooling: geometry and tables of offsets for the kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from vkml_core.dtypes import float32
from vkml_core.plan import Call
from vkml_core.shapes import View, size

from vkml_backend_numba.kernels.products import CHUNK, TILE
from vkml_backend_numba.kernels.tile import COLS, ROWS
from vkml_backend_numba.lower.builder import NOTHING, Builder
from vkml_backend_numba.lower.chains import copied, floats
from vkml_backend_numba.lower.operands import Place

WASTE: Final = 1.25
"""Columns of tiles for each place of the result from which on columns are made: each of them is
read once for every few outputs."""
Head = Callable[[Builder, Call, Sequence[Place], int], bool]


def _geometry(call: Call) -> tuple[int, ...]:
    a = call.attrs
    return *a.stride, *a.padding, *a.dilation, a.groups


def _taps(channels: int, kernel: Sequence[int], plane: int, down: int, right: int) -> list[int]:
    """Give the offsets of (channel, ky, kx) in a padded image."""
    return [
        c * plane + y * down + x * right
        for c in range(channels)
        for y in range(kernel[0])
        for x in range(kernel[1])
    ]


def _conv(builder: Builder, call: Call, places: Sequence[Place], slot: int) -> bool:
    x, w = floats(builder, places)
    sh, sw, ph, pw, dh, dw, groups = _geometry(call)
    n, c, h, wide_ = x.view.shape
    outputs, each, kh, kw = w.view.shape
    oh, ow = call.shape[2:]
    high, wide = h + 2 * ph, wide_ + 2 * pw
    taps = _taps(c, (kh, kw), high * wide, dh * wide, dw)
    size_ = each * kh * kw
    rows = outputs // groups
    made = int((sh, sw) != (1, 1) or _is_wasteful(oh, ow, wide))
    packed = _packed(builder, w.slot, groups, rows, size_, 1, size_)
    words = [
        *(x.slot, packed, slot, c, h, wide_, ph, pw, high, wide, groups, rows, size_, oh, ow),
        *(sh, sw, CHUNK, made, len(taps), each * high * wide, *taps),
    ]
    _add_conv(builder, words, n)
    return True


def _packed(
    builder: Builder, slot: int, groups: int, rows: int, size_: int, by_k: int, by_row: int
) -> int:
    """Pack weights of groups for the rows of tiles, and give the slot."""
    panels = -(-rows // ROWS)
    packed = builder.temporary(groups * panels * size_ * ROWS * 4)
    words = [slot, 0, rows * size_, by_k, by_row, size_, rows, packed, ROWS]
    builder.add("pack", words, groups * panels, work=groups * rows * size_ * 4)
    return packed


def _is_wasteful(oh: int, ow: int, wide: int) -> bool:
    """Whether places in rows of the padded width are many more tiles than places side by side."""
    return -(-((oh - 1) * wide + ow) // COLS) * COLS > WASTE * (oh * ow)


def _add_conv(builder: Builder, words: Sequence[int], n: int) -> None:
    c, high, wide, rows, size_, oh, ow = (words[i] for i in (3, 8, 9, 11, 12, 13, 14))
    made, columns = words[18], words[19] * oh * ow
    across = ((oh - 1) * (ow if made else wide) + ow + COLS) * rows
    floats = c * high * wide + (columns + COLS if made else 0) + COLS + across
    builder.needs((ROWS + 2 * size_) * 8 + TILE + floats * 4)
    builder.add("convolve", words, n, work=n * words[10] * across * size_ // 16)


def _input_grad(builder: Builder, call: Call, places: Sequence[Place], slot: int) -> bool:
    """Convolve the gradient with the taps in order, each tap's channels a chunk of their own."""
    sh, sw, ph, pw, dh, dw, groups = _geometry(call)
    n, outputs, oh, ow = places[0].view.shape
    _, each, kh, kw = places[1].view.shape
    rows, top, left = outputs // groups, (kh - 1) * dh - ph, (kw - 1) * dw - pw
    if (sh, sw) != (1, 1) or rows > CHUNK or min(top, left) < 0:
        return False
    g, w = floats(builder, places)
    builder.add("refuse_infinite", [w.slot, size(w.view.shape)], 1)
    taps = kh * kw
    by_tap = View((groups, taps, rows, each), (rows * each * taps, 1, each * taps, taps))
    turned = copied(builder, Place(w.slot, by_tap, float32))
    packed = _packed(builder, turned.slot, groups, each, taps * rows, each, 1)
    h, wide_ = call.shape[2:]
    high, wide = h + (kh - 1) * dh, wide_ + (kw - 1) * dw
    made = int(_is_wasteful(h, wide_, wide))
    offsets = [
        (group * rows + o) * high * wide + (kh - 1 - y) * dh * wide + (kw - 1 - x) * dw
        for group in range(groups)
        for y in range(kh)
        for x in range(kw)
        for o in range(rows)
    ]
    words = [
        *(g.slot, packed, slot, outputs, oh, ow, top, left, high, wide, groups, each),
        *(taps * rows, h, wide_, 1, 1, rows, made, len(offsets), rows * high * wide, *offsets),
    ]
    _add_conv(builder, words, n)
    return True


def _weight_grad(builder: Builder, call: Call, places: Sequence[Place], slot: int) -> bool:
    x, g = floats(builder, places)
    sh, sw, ph, pw, dh, dw, groups = _geometry(call)
    n, c, h, wide_ = x.view.shape
    outputs, oh, ow = g.view.shape[1:]
    high, wide, rows, channels = h + 2 * ph, wide_ + 2 * pw, outputs // groups, c // groups
    padded = c * high * wide + COLS
    images = builder.temporary(n * padded * 4)
    words = [x.slot, images, c, h, wide_, ph, pw, high, wide]
    builder.add("pad_images", words, n, work=n * padded)
    panels = -(-rows // COLS)
    packed = builder.temporary(groups * panels * n * oh * ow * COLS * 4)
    words = [g.slot, packed, n, groups, rows, oh * ow]
    builder.add("pack_gradients", words, n, work=n * outputs * oh * ow * 4)
    kernel = call.attrs.kernel
    taps = _taps(channels, kernel, high * wide, dh * wide, dw)
    shares = max(1, -(-8 // (panels * groups)))
    block = ROWS * max(1, -(-len(taps) // (ROWS * shares)))
    words = [
        *(images, packed, slot, n, padded, wide, groups, rows, len(taps), oh, ow, sh, sw, block),
        *(channels * high * wide, 0, *taps),
    ]
    builder.needs((ROWS + 2 * CHUNK) * 8 + TILE + (block + ROWS) * COLS * 4)
    tasks = groups * panels * -(-len(taps) // block)
    builder.add("weight_grad", words, tasks, work=n * oh * ow * outputs * len(taps) // 16)
    return True


def _pool(kind: str) -> Head:
    def emit(builder: Builder, call: Call, places: Sequence[Place], slot: int) -> bool:
        *rest, x = floats(builder, places)
        a = call.attrs
        n, c, h, w = x.view.shape
        oh, ow = (rest[0].view.shape if rest else call.shape)[2:]
        quads = (a.kernel, a.stride, a.padding, a.dilation) == ((2, 2), (2, 2), (0, 0), (1, 1))
        words = [
            *(x.slot, rest[0].slot if rest else NOTHING, slot, h, w, oh, ow),
            *(*a.kernel, *a.stride, *a.padding, *a.dilation, int(quads)),
        ]
        each = max(1, 16384 // max(1, h * w))
        builder.add(kind, words, n * c, each)
        return True

    return emit


WINDOWS: Final[dict[str, Head]] = {
    "conv2d": _conv,
    "conv2d_input_grad": _input_grad,
    "conv2d_weight_grad": _weight_grad,
    "max_pool2d": _pool("max_pool"),
    "max_pool2d_input_grad": _pool("max_pool_grad"),
}
"""Operations on windows with kernels of their own."""

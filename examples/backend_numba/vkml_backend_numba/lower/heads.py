"""Heads: reductions, products, convolutions, pooling, indexing and random bits.

Each function adds the substeps that compute a call into a slot as float32 (or the call's own dtype
where that is no float16) and gives the number of the last one, or None where the kernels here do
not do it; then the oracle's function does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from vkml_backend_numba.kernels.products import CHUNK
from vkml_backend_numba.kernels.sums import CHUNK as SUM_CHUNK
from vkml_backend_numba.kernels.sums import LARGEST, SMALLEST, SUM
from vkml_backend_numba.kernels.tile import COLS, ROWS
from vkml_backend_numba.lower.builder import NOTHING, Builder
from vkml_backend_numba.lower.chains import copied, in_order
from vkml_backend_numba.lower.operands import DTYPE, Place
from vkml_core.dtypes import DType, float16, float32, int64
from vkml_core.plan import Call
from vkml_core.shapes import View, size

_TILE: Final = ROWS * COLS * 4
Head = Callable[[Builder, Call, Sequence[Place], int], bool]


AS_IT_LIES: Final = frozenset({"gather"})
"""Heads that only move elements, float16 too."""


def held(dtype: DType, op: str = "") -> DType:
    """Give the dtype in which a head's result is made."""
    return float32 if dtype is float16 and op not in AS_IT_LIES else dtype


def _reduce(what: int) -> Head:
    def emit(builder: Builder, call: Call, places: Sequence[Place], slot: int) -> bool:
        (place,) = places
        axes = call.attrs.axes
        kept = [i for i in range(len(place.view.shape)) if i not in axes]
        view = place.view
        order = [*kept, *axes]
        rows = size(view.shape[i] for i in kept)
        row = size(view.shape[i] for i in axes)
        turned = View(
            tuple(view.shape[i] for i in order), tuple(view.strides[i] for i in order), view.offset
        )
        place = Place(place.slot, turned, place.dtype)
        while True:
            chunks = -(-row // SUM_CHUNK)
            out = slot if chunks == 1 else builder.temporary(rows * chunks * 8)
            dtype = held(call.dtype)
            each = max(1, 32768 // min(row, SUM_CHUNK))
            words = [what, DTYPE[dtype], row, chunks, out, 0, *place.words()]
            builder.add("reduce", words, rows * chunks, each)
            if chunks == 1:
                return True
            place, row = Place(out, View.of((rows, chunks)), dtype), chunks

    return emit


def _matmul(builder: Builder, call: Call, places: Sequence[Place], slot: int) -> bool:
    if call.dtype not in (float32, float16):
        return False
    a, b = (p if p.dtype is float32 else in_order(builder, p, float32) for p in places)
    if len(a.view.shape) > 3:
        a, b = (_with_one_batch(builder, p) for p in (a, b))
    batches, (m, size_) = size(a.view.shape[:-2]), a.view.shape[-2:]
    n = b.view.shape[-1]
    panels = -(-n // COLS)
    packed = builder.temporary(batches * panels * size_ * COLS * 4)
    b_batch = b.view.strides[0] if len(b.view.shape) == 3 else 0
    a_batch = a.view.strides[0] if len(a.view.shape) == 3 else 0
    words = [b.slot, b.offset, b_batch, *b.view.strides[-2:], size_, n, packed, 0]
    builder.add("pack", words, batches * panels, work=batches * size_ * n * 4)
    block = ROWS * max(1, min(12, -(-m // (ROWS * 4))))
    blocks = -(-m // block)
    words = [a.slot, a.offset, a_batch, *a.view.strides[-2:], packed, 0, m, n, size_, block, slot]
    builder.needs((ROWS + 2 * CHUNK) * 8 + _TILE + (block + ROWS) * CHUNK * 4)
    builder.add("product", words, batches * blocks, work=batches * m * n * size_ // 16)
    return True


def _with_one_batch(builder: Builder, place: Place) -> Place:
    ordered = in_order(builder, place, float32)
    shape = ordered.view.shape
    flat = View.of((size(shape[:-2]), *shape[-2:]))
    return Place(ordered.slot, View(flat.shape, flat.strides, ordered.view.offset), float32)


def _floats(builder: Builder, places: Sequence[Place], dtype: DType = float32) -> list[Place]:
    """Give operands in order, at the beginning of their slots."""
    return [at_start(builder, in_order(builder, place, dtype)) for place in places]


def at_start(builder: Builder, place: Place) -> Place:
    """Give a place at the beginning of its slot."""
    return copied(builder, place) if place.view.offset else place


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
    x, w = _floats(builder, places)
    sh, sw, ph, pw, dh, dw, groups = _geometry(call)
    n, c, h, wide_ = x.view.shape
    outputs, each, kh, kw = w.view.shape
    oh, ow = call.shape[2:]
    high, wide = h + 2 * ph, wide_ + 2 * pw
    taps = _taps(c, (kh, kw), high * wide, dh * wide, dw)
    size_ = each * kh * kw
    rows = outputs // groups
    made = int((sh, sw) != (1, 1))
    words = [
        *(x.slot, w.slot, slot, c, h, wide_, ph, pw, high, wide, groups, rows, size_, oh, ow),
        *(sh, sw, CHUNK, made, len(taps), rows * size_, size_, 1, each * high * wide),
        *taps,
    ]
    _add_conv(builder, words, n)
    return True


def _add_conv(builder: Builder, words: Sequence[int], n: int) -> None:
    c, high, wide, rows, size_, oh, ow = (words[i] for i in (3, 8, 9, 11, 12, 13, 14))
    made, columns = words[18], words[19] * oh * ow
    across = ((oh - 1) * (ow if made else wide) + ow + COLS) * rows
    floats = c * high * wide + (columns + COLS if made else 0) + COLS + across
    builder.needs((ROWS + 2 * size_) * 8 + _TILE + floats * 4)
    builder.add("convolve", words, n, work=n * words[10] * across * size_ // 16)


def _input_grad(builder: Builder, call: Call, places: Sequence[Place], slot: int) -> bool:
    """Convolve the gradient with the taps in order, each tap's channels a chunk of their own."""
    sh, sw, ph, pw, dh, dw, groups = _geometry(call)
    n, outputs, oh, ow = places[0].view.shape
    _, each, kh, kw = places[1].view.shape
    rows, top, left = outputs // groups, (kh - 1) * dh - ph, (kw - 1) * dw - pw
    if (sh, sw) != (1, 1) or rows > CHUNK or min(top, left) < 0:
        return False
    g, w = _floats(builder, places)
    builder.add("refuse_infinite", [w.slot, size(w.view.shape)], 1)
    taps = kh * kw
    by_tap = View((groups, taps, rows, each), (rows * each * taps, 1, each * taps, taps))
    turned = copied(builder, Place(w.slot, by_tap, float32))
    h, wide_ = call.shape[2:]
    high, wide = h + (kh - 1) * dh, wide_ + (kw - 1) * dw
    offsets = [
        o * high * wide + (kh - 1 - y) * dh * wide + (kw - 1 - x) * dw
        for y in range(kh)
        for x in range(kw)
        for o in range(rows)
    ]
    words = [
        *(g.slot, turned.slot, slot, outputs, oh, ow, top, left, high, wide, groups, each),
        *(taps * rows, h, wide_, 1, 1, rows, 0, len(offsets), taps * rows * each, 1, each),
        *(rows * high * wide, *offsets),
    ]
    _add_conv(builder, words, n)
    return True


def _weight_grad(builder: Builder, call: Call, places: Sequence[Place], slot: int) -> bool:
    x, g = _floats(builder, places)
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
    builder.needs((ROWS + 2 * CHUNK) * 8 + _TILE + (block + ROWS) * COLS * 4)
    tasks = groups * panels * -(-len(taps) // block)
    builder.add("weight_grad", words, tasks, work=n * oh * ow * outputs * len(taps) // 16)
    return True


def _pool(kind: str) -> Head:
    def emit(builder: Builder, call: Call, places: Sequence[Place], slot: int) -> bool:
        *rest, x = _floats(builder, places)
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


def _gather(builder: Builder, call: Call, places: Sequence[Place], slot: int) -> bool:
    (x,) = _floats(builder, places[:1], places[0].dtype)
    (index,) = _floats(builder, places[1:], int64)
    words, outer = _indexing(call, x.slot, index, slot, x.view.shape[call.attrs.axis])
    words.append(x.dtype.itemsize)
    builder.add("gather", words, outer, max(1, 16384 // (words[4] * words[5])))
    return True


def _scatter(builder: Builder, call: Call, places: Sequence[Place], slot: int) -> bool:
    if call.dtype is not float32:
        return False
    (src,) = _floats(builder, places[:1])
    (index,) = _floats(builder, places[1:], int64)
    words, outer = _indexing(call, src.slot, index, slot, call.attrs.size)
    builder.add("scatter", words, outer, max(1, 16384 // (max(words[3:5]) * words[5])))
    return True


def _indexing(
    call: Call, data: int, index: Place, slot: int, there: int
) -> tuple[list[int], int]:
    shape, axis = index.view.shape, call.attrs.axis
    outer, inner = size(shape[:axis]), size(shape[axis + 1 :])
    return [data, index.slot, slot, there, shape[axis], inner], outer


def _random_bits(builder: Builder, call: Call, places: Sequence[Place], slot: int) -> bool:
    seed, offset = _floats(builder, places, int64)
    count = size(call.shape)
    words = [seed.slot, offset.slot, slot, count, call.attrs.bits]
    builder.add("random_bits", words, -(-count // 4), 2048)
    return True


HEADS: Final[dict[str, Head]] = {
    "sum": _reduce(SUM),
    "amax": _reduce(LARGEST),
    "amin": _reduce(SMALLEST),
    "matmul": _matmul,
    "conv2d": _conv,
    "conv2d_input_grad": _input_grad,
    "conv2d_weight_grad": _weight_grad,
    "max_pool2d": _pool("max_pool"),
    "max_pool2d_input_grad": _pool("max_pool_grad"),
    "gather": _gather,
    "scatter_add": _scatter,
    "random_bits": _random_bits,
}
"""Operations with kernels of their own here."""
IN_RANGES: Final = frozenset(
    {"matmul", "conv2d", "conv2d_input_grad", "max_pool2d", "max_pool2d_input_grad"}
)
"""Those whose tasks make ranges of elements, with which a chain can go on at once."""

"""Heads: reductions, products, convolutions, pooling, indexing and random bits.

Each function adds the substeps that compute a call into a slot as float32 (or the call's own dtype
where that is no float16) and gives the number of the last one, or None where the kernels here do
not do it; then the oracle's function does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vkml_core.dtypes import DType, float16, float32, int64
from vkml_core.plan import Call
from vkml_core.shapes import View, size

from vkml_backend_numba.kernels.products import CHUNK, TILE
from vkml_backend_numba.kernels.sums import CHUNK as SUM_CHUNK
from vkml_backend_numba.kernels.sums import LARGEST, SMALLEST, SUM
from vkml_backend_numba.kernels.tile import COLS, ROWS
from vkml_backend_numba.lower.builder import Builder
from vkml_backend_numba.lower.chains import floats, in_order
from vkml_backend_numba.lower.operands import DTYPE, Place
from vkml_backend_numba.lower.windows import WINDOWS, Head

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
    words = [b.slot, b.offset, b_batch, *b.view.strides[-2:], size_, n, packed, COLS]
    builder.add("pack", words, batches * panels, work=batches * size_ * n * 4)
    tiles = -(-m // ROWS)
    block = ROWS * -(-tiles // max(4, -(-tiles // 8)))
    words = [a.slot, a.offset, a_batch, *a.view.strides[-2:], packed, m, n, size_, block, slot]
    builder.needs((ROWS + 2 * CHUNK) * 8 + TILE + (block + ROWS) * CHUNK * 4)
    tasks = batches * -(-m // block)
    builder.add("product", words, tasks, work=batches * m * n * size_ // 16)
    return True


def _with_one_batch(builder: Builder, place: Place) -> Place:
    ordered = in_order(builder, place, float32)
    shape = ordered.view.shape
    flat = View.of((size(shape[:-2]), *shape[-2:]))
    return Place(ordered.slot, View(flat.shape, flat.strides, ordered.view.offset), float32)


def _gather(builder: Builder, call: Call, places: Sequence[Place], slot: int) -> bool:
    (x,) = floats(builder, places[:1], places[0].dtype)
    (index,) = floats(builder, places[1:], int64)
    words, outer = _indexing(call, x.slot, index, slot, x.view.shape[call.attrs.axis])
    words.append(x.dtype.itemsize)
    builder.add("gather", words, outer, max(1, 16384 // (words[4] * words[5])))
    return True


def _scatter(builder: Builder, call: Call, places: Sequence[Place], slot: int) -> bool:
    if call.dtype is not float32:
        return False
    (src,) = floats(builder, places[:1])
    (index,) = floats(builder, places[1:], int64)
    words, outer = _indexing(call, src.slot, index, slot, call.attrs.size)
    builder.add("scatter", words, outer, max(1, 16384 // (max(words[3:5]) * words[5])))
    return True


def _indexing(call: Call, data: int, index: Place, slot: int, there: int) -> tuple[list[int], int]:
    shape, axis = index.view.shape, call.attrs.axis
    outer, inner = size(shape[:axis]), size(shape[axis + 1 :])
    return [data, index.slot, slot, there, shape[axis], inner], outer


def _random_bits(builder: Builder, call: Call, places: Sequence[Place], slot: int) -> bool:
    seed, offset = floats(builder, places, int64)
    count = size(call.shape)
    words = [seed.slot, offset.slot, slot, count, call.attrs.bits]
    builder.add("random_bits", words, -(-count // 4), 2048)
    return True


HEADS: Final[dict[str, Head]] = {
    **WINDOWS,
    "sum": _reduce(SUM),
    "amax": _reduce(LARGEST),
    "amin": _reduce(SMALLEST),
    "matmul": _matmul,
    "gather": _gather,
    "scatter_add": _scatter,
    "random_bits": _random_bits,
}
"""Operations with kernels of their own here."""
IN_RANGES: Final = frozenset(
    {"matmul", "conv2d", "conv2d_input_grad", "max_pool2d", "max_pool2d_input_grad"}
)
"""Those whose tasks make ranges of elements, with which a chain can go on at once."""

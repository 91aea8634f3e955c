"""Sums in the contract's order (rule 16) and extremes of chunks of 1024 elements."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from vkml_backend_numba.compiling import entry, kernel
from vkml_backend_numba.kernels.blocks import BOOL, F16, F32, I32, item_size, load, store
from vkml_backend_numba.kernels.memory import bits_of, f32, float_of, i32, i64, u8

LANES: Final = 32
CHUNK: Final = 1024
SUM, LARGEST, SMALLEST = range(3)
"""What is made of a chunk."""
_VECTOR: Final = ir.VectorType(ir.FloatType(), LANES)


@intrinsic
def _lane_sum(context, place, groups):
    """Add up `groups` times 32 float32 in 32 lanes from +0 and fold them by halves."""

    def generate(cgctx, builder, signature, args):
        place, groups = args
        word = ir.IntType(64)
        start = builder.basic_block
        head, body, done = (builder.append_basic_block(n) for n in ("head", "body", "done"))
        builder.branch(head)
        builder.position_at_end(head)
        i, lanes = builder.phi(word), builder.phi(_VECTOR)
        i.add_incoming(word(0), start)
        lanes.add_incoming(ir.Constant(_VECTOR, [0.0] * LANES), start)
        builder.cbranch(builder.icmp_signed("<", i, groups), body, done)
        builder.position_at_end(body)
        at = builder.add(place, builder.mul(i, word(4 * LANES)))
        read = builder.load(builder.inttoptr(at, _VECTOR.as_pointer()), align=4)
        lanes.add_incoming(builder.fadd(lanes, read), body)
        i.add_incoming(builder.add(i, word(1)), body)
        builder.branch(head)
        builder.position_at_end(done)
        return _folded(builder, lanes)

    return types.float32(types.int64, types.int64), generate


def _folded(builder: Any, lanes: Any) -> Any:
    half = LANES // 2
    while half:
        both = []
        for first in (0, half):
            mask = [ir.Constant(ir.IntType(32), first + j) for j in range(half)]
            chosen = ir.Constant(ir.VectorType(ir.IntType(32), half), mask)
            both.append(builder.shuffle_vector(lanes, lanes, chosen))
        lanes = builder.fadd(*both)
        half //= 2
    return builder.extract_element(lanes, ir.Constant(ir.IntType(32), 0))


@kernel
def _float_sum(place, n, spare):
    """Sum up to a chunk; what is missing to whole lanes is +0."""
    whole = n // LANES
    if n % LANES == 0:
        return _lane_sum(place, whole)
    xs, padded = f32(place, n), f32(spare, whole * LANES + LANES)
    for i in range(n):
        padded[i] = xs[i]
    for i in range(n, whole * LANES + LANES):
        padded[i] = np.float32(0)
    return _lane_sum(spare, whole + 1)


@kernel
def _key(x):
    """Give an integer in the order of floats, −0 below +0."""
    bits = bits_of(x)
    return np.int32(bits ^ ((bits >> 31) & 0x7FFFFFFF))


@kernel
def _float_extreme(place, n, largest):
    xs = f32(place, n)
    nan = 0
    best = _key(xs[0])
    if largest:
        for i in range(n):
            best = max(best, _key(xs[i]))
            nan |= xs[i] != xs[i]
    else:
        for i in range(n):
            best = min(best, _key(xs[i]))
            nan |= xs[i] != xs[i]
    if nan:
        return np.float32(np.nan)
    return float_of(np.int32(best ^ ((best >> 31) & 0x7FFFFFFF)))


@kernel
def _integer(xs, n, what):
    total = np.int64(0 if what == SUM else xs[0])
    for i in range(n):
        x = np.int64(xs[i])
        if what == SUM:
            total += x
        elif what == LARGEST:
            total = max(total, x)
        else:
            total = min(total, x)
    return total


@kernel
def reduce_chunk(place, n, what, dtype, target, spare):
    """Reduce up to a chunk of values at `place` to one at `target`, as values are held."""
    if (dtype == F32) | (dtype == F16):
        out = f32(target, 1)
        if what == SUM:
            out[0] = _float_sum(place, n, spare)
        else:
            out[0] = _float_extreme(place, n, what == LARGEST)
    elif dtype == I32:
        i32(target, 1)[0] = _integer(i32(place, n), n, what)
    elif dtype == BOOL:
        u8(target, 1)[0] = _integer(u8(place, n), n, what)
    else:
        i64(target, 1)[0] = _integer(i64(place, n), n, what)


@entry
def reduce_rows(words, addresses, task, first, last, scratch, thread):
    """Reduce chunks `first` to `last`; words: what, dtype of the result, elements of a row, chunks
    of a row, its slot and byte offset; then the operand, rows first.
    """
    what, dtype, row, chunks = words[0], words[1], words[2], words[3]
    target = addresses[words[4]] + words[5]
    item = item_size(dtype)
    kind = words[6 + 2]
    for i in range(first, last):
        start = (i % chunks) * CHUNK
        n = min(CHUNK, row - start)
        place = load(words, 6, addresses, i // chunks * row + start, n, scratch + 16)
        reduce_chunk(place, n, what, kind, scratch, scratch + 16 + CHUNK * 8)
        store(scratch, target + i * item, dtype, 1)

"""Reading strided operands into blocks and writing blocks as results."""

from __future__ import annotations

from typing import Final

from vkml_backend_numba.compiling import kernel
from vkml_backend_numba.kernels.memory import f32, i32, i64, narrow, u8, u16, widen
from vkml_backend_numba.kernels.scalars import one_nan

BLOCK: Final = 1024
"""Elements of a block: a few of them stay in the first-level cache."""
F32, F16, I32, I64, BOOL = range(5)
"""Codes of dtypes as they lie in memory."""
HALF_NAN: Final = 0x7E00


@kernel
def copy(xs, ds, n):
    """Copy elements; a loop is quicker to compile than an assignment to a slice."""
    for i in range(n):
        ds[i] = xs[i]


@kernel
def canonical(source, target, n):
    """Copy float32, every NaN made the contract's."""
    xs, ds = f32(source, n), f32(target, n)
    for i in range(n):
        ds[i] = one_nan(xs[i])


@kernel
def round_to_half(place, n):
    """Round float32 to what float16 holds, in place."""
    xs = f32(place, n)
    for i in range(n):
        xs[i] = widen(narrow(xs[i]))


@kernel
def store(source, target, dtype, n):
    """Write a block of a value to memory."""
    if dtype == F32:
        canonical(source, target, n)
    elif dtype == F16:
        xs, hs = f32(source, n), u16(target, n)
        for i in range(n):
            x = xs[i]
            hs[i] = narrow(x) if x == x else HALF_NAN
    elif dtype == I32:
        copy(i32(source, n), i32(target, n), n)
    elif dtype == I64:
        copy(i64(source, n), i64(target, n), n)
    else:
        copy(u8(source, n), u8(target, n), n)


@kernel
def item_size(dtype):
    """Bytes of an element in memory."""
    return 1 if dtype == BOOL else (2 if dtype == F16 else (8 if dtype == I64 else 4))


@kernel
def _run(source, stride, target, dtype, n):
    """Read n elements that lie `stride` apart."""
    if (dtype == F32) | (dtype == I32):
        words, out = i32(source, n), i32(target, n)
        if stride == 1:
            copy(words, out, n)
        elif stride == 0:
            for i in range(n):
                out[i] = words[0]
        else:
            for i in range(n):
                out[i] = i32(source + i * stride * 4, 1)[0]
    elif dtype == I64:
        longs = i64(target, n)
        for i in range(n):
            longs[i] = i64(source + i * stride * 8, 1)[0]
    elif dtype == F16:
        wide = f32(target, n)
        for i in range(n):
            wide[i] = widen(u16(source + i * stride * 2, 1)[0])
    else:
        small = u8(target, n)
        for i in range(n):
            small[i] = u8(source + i * stride, 1)[0]


@kernel
def value_size(dtype):
    """Bytes of an element in a block: float16 is held as float32."""
    return 1 if dtype == BOOL else (8 if dtype == I64 else 4)


OPERAND: Final = 12
"""Words that describe an operand: slot, byte offset, dtype, whether it lies in order, four sizes
and four strides in elements."""


@kernel
def load(words, at, addresses, position, n, target):
    """Give where elements `position` to `position + n` of an operand are, in order: in memory, or
    in `target`, to which they are copied.
    """
    dtype = words[at + 2]
    base = addresses[words[at]] + words[at + 1]
    item = item_size(dtype)
    if words[at + 3] and dtype != F16:
        return base + position * item
    d1, d2, d3 = words[at + 5], words[at + 6], words[at + 7]
    s0, s1, s2, s3 = words[at + 8], words[at + 9], words[at + 10], words[at + 11]
    rest, wide, done = position, value_size(dtype), 0
    i3 = rest % d3
    rest //= d3
    i2 = rest % d2
    rest //= d2
    i1 = rest % d1
    i0 = rest // d1
    while done < n:
        run = min(d3 - i3, n - done)
        place = base + (i0 * s0 + i1 * s1 + i2 * s2 + i3 * s3) * item
        _run(place, s3, target + done * wide, dtype, run)
        done += run
        i3 = 0
        i2 += 1
        if i2 == d2:
            i2 = 0
            i1 += 1
            if i1 == d1:
                i1 = 0
                i0 += 1
    return target

"""Reading and adding at indices in source order, and random bits."""

from __future__ import annotations

import numpy as np

from vkml_backend_numba.compiling import entry, kernel
from vkml_backend_numba.kernels.memory import f32, i32, i64, u8, u16
from vkml_backend_numba.kernels.scalars import one_nan
from vkml_backend_numba.kernels.thread import refuse


@kernel
def _pick(words, addresses, outer):
    """Pick from one outer slice; False where an index is out of range."""
    there, here, inner, item = words[3], words[4], words[5], words[6]
    x = addresses[words[0]] + outer * there * inner * item
    index = i64(addresses[words[1]] + outer * here * inner * 8, here * inner)
    out = addresses[words[2]] + outer * here * inner * item
    for i in range(here * inner):
        k = index[i]
        if k < 0 or k >= there:
            return False
        source, target = x + (k * inner + i % inner) * item, out + i * item
        if item == 4:
            i32(target, 1)[0] = i32(source, 1)[0]
        elif item == 8:
            i64(target, 1)[0] = i64(source, 1)[0]
        elif item == 2:
            u16(target, 1)[0] = u16(source, 1)[0]
        else:
            u8(target, 1)[0] = u8(source, 1)[0]
    return True


@entry
def gather(words, addresses, task, first, last, scratch, thread):
    """Pick from outer slices `first` to `last`. Words: slots of data, indices, result; elements of
    the axis there and in the indices; inner elements; bytes of an element.
    """
    for outer in range(first, last):
        if not _pick(words, addresses, outer):
            refuse(thread)


@kernel
def _add(words, addresses, outer):
    """Add one outer slice of float32, in source order; False where an index is out of range."""
    there, here, inner = words[3], words[4], words[5]
    xs = f32(addresses[words[0]] + outer * here * inner * 4, here * inner)
    index = i64(addresses[words[1]] + outer * here * inner * 8, here * inner)
    out = f32(addresses[words[2]] + outer * there * inner * 4, there * inner)
    for i in range(there * inner):
        out[i] = np.float32(0)
    for i in range(here * inner):
        k = index[i]
        if k < 0 or k >= there:
            return False
        out[k * inner + i % inner] = one_nan(out[k * inner + i % inner] + xs[i])
    return True


@entry
def scatter(words, addresses, task, first, last, scratch, thread):
    """Add outer slices `first` to `last` at their indices; words as for `gather`."""
    for outer in range(first, last):
        if not _add(words, addresses, outer):
            refuse(thread)


@entry
def random_bits(words, addresses, task, first, last, scratch, thread):
    """Philox4x32-10: groups of four words `first` to `last`. Words: slots of seed, offset, result;
    elements, bits.
    """
    low, n, shift = np.uint64(0xFFFFFFFF), words[3], np.uint64(32 - words[4])
    seed = np.uint64(i64(addresses[words[0]], 1)[0])
    offset = np.uint64(i64(addresses[words[1]], 1)[0])
    out = i32(addresses[words[2]], n)
    half = np.uint64(32)
    for group in range(first, last):
        x0, x1 = np.uint64(group) & low, np.uint64(group) >> half
        x2, x3 = offset & low, offset >> half
        k0, k1 = seed & low, seed >> half
        for _ in range(10):
            p0, p1 = x0 * np.uint64(0xD2511F53), x2 * np.uint64(0xCD9E8D57)
            x0, x1, x2, x3 = (p1 >> half) ^ x1 ^ k0, p1 & low, (p0 >> half) ^ x3 ^ k1, p0 & low
            k0, k1 = (k0 + np.uint64(0x9E3779B9)) & low, (k1 + np.uint64(0xBB67AE85)) & low
        base = group * 4
        for i, word in enumerate((x0, x1, x2, x3)):
            if base + i < n:
                out[base + i] = np.int32(word >> shift)

"""Values for the tests of the oracle: the same everywhere, whatever NumPy's version."""

from __future__ import annotations

import hashlib
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

EDGES: Final = (0, 1, 2, 31, 32, 33, 511, 512, 513, 1023, 1024, 1025, 2049)
"""Sizes around lanes (32), chunks of matmul (512) and chunks of sums (1024)."""

SPECIAL: Final = np.array(
    [0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x80000003, 0x00800000]
    + [0x3F800000, 0xBF800000, 0x3F800001, 0x3F000000, 0xBF000000, 0x40200000, 0xC0200000]
    + [0x40400000, 0xC0E00000, 0x33000000, 0x4B000001, 0xCB800000, 0x477FF000, 0x4F000000]
    + [0xCF000000, 0x5F000000, 0xDF000000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000]
    + [0x7FC00000, 0xFFC00001, 0x7F800001],
    dtype=np.uint32,
).view(np.float32)
"""Zeros, subnormals, halves, 2²³ + 1, what overflows float16, int32 and int64, infinities, NaNs."""


def bits(name: str, *shape: int, dtype: Any = np.uint32) -> Array:
    """Give uniform bits as integers of `dtype`, a function of the name."""
    count, item = int(np.prod(shape, dtype=np.int64)), np.dtype(dtype).itemsize
    data = hashlib.shake_256(name.encode()).digest(count * item)
    found: Array = np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(dtype)
    return found.reshape(shape)


def anything(name: str, *shape: int) -> Array:
    """Give floats of all exponents; one in 128 is infinite or NaN."""
    found: Array = bits(name, *shape).view(np.float32)
    return found


def real(name: str, *shape: int) -> Array:
    """Give floats from −2 to 2."""
    words = bits(name, *shape).view(np.int32) >> 7
    out: Array = words.astype(np.float32) * np.float32(2.0**-23)
    return out


def rough(name: str, *shape: int) -> Array:
    """Give floats from 2^−12 to 2^12 of both signs, whose sum depends on the order."""
    words = bits(name, *shape)
    exponent = (words & np.uint32(0x007FFFFF)) | (np.uint32(115) + words % 24) << np.uint32(23)
    out: Array = (exponent | (words & np.uint32(0x80000000))).view(np.float32)
    return out


def ints(name: str, low: int, high: int, *shape: int, dtype: Any = np.int64) -> Array:
    """Give integers from low to high − 1."""
    found: Array = (bits(name, *shape).astype(np.int64) % (high - low) + low).astype(dtype)
    return found


def bools(name: str, *shape: int) -> Array:
    """Give True and False."""
    odd: Array = np.equal(bits(name, *shape) % 2, 1)
    return odd


def number(value: int) -> Array:
    """Give an int64 array of rank 0."""
    return np.array(value, np.int64)

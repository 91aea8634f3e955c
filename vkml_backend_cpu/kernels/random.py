"""Philox4x32-10: random words as a function of seed, offset and index.

Source: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as
1, 2, 3", SC'11.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Words = npt.NDArray[np.uint32]
ROUNDS: Final = 10
MULTIPLIERS: Final = (0xD2511F53, 0xCD9E8D57)
WEYL: Final = (0x9E3779B9, 0xBB67AE85)
MASK: Final = 0xFFFFFFFF


def philox4x32_10(counter: Words, key: Sequence[int]) -> Words:
    """Encrypt counters (n, 4) with a key of two words."""
    x0, x1, x2, x3 = (counter[:, i].astype(np.uint64) for i in range(4))
    k0, k1 = (int(k) for k in key)
    low, shift = np.uint64(MASK), np.uint64(32)
    for _ in range(ROUNDS):
        p0, p1 = x0 * np.uint64(MULTIPLIERS[0]), x2 * np.uint64(MULTIPLIERS[1])
        x0, x1, x2, x3 = (
            (p1 >> shift) ^ x1 ^ np.uint64(k0),
            p1 & low,
            (p0 >> shift) ^ x3 ^ np.uint64(k1),
            p0 & low,
        )
        k0, k1 = (k0 + WEYL[0]) & MASK, (k1 + WEYL[1]) & MASK
    return np.stack([x0, x1, x2, x3], 1).astype(np.uint32)


def philox(seed: int, offset: int, count: int) -> Words:
    """Give `count` words: word i mod 4 of counter (i div 4, offset) under key = seed."""
    block = np.arange(-(-count // 4), dtype=np.uint64)
    counter = np.empty((block.size, 4), np.uint32)
    counter[:, 0], counter[:, 1] = block & np.uint64(MASK), block >> np.uint64(32)
    counter[:, 2], counter[:, 3] = offset & MASK, (offset >> 32) & MASK
    return philox4x32_10(counter, (seed & MASK, (seed >> 32) & MASK)).reshape(-1)[:count]


def random_bits(seed: int, offset: int, shape: Sequence[int], bits: int) -> Array:
    """Give the top `bits` (1 to 31) of a word for each element, as int32."""
    words = philox(seed, offset, int(np.prod(shape, dtype=np.int64)))
    return (words >> np.uint32(32 - bits)).astype(np.int32).reshape(tuple(shape))

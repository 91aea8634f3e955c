"""Operands of the probes: edges of float32, and random ones of near and far exponents."""

from __future__ import annotations

from typing import Final

import numpy as np

from vkml_backend_vulkan.selftest.probe import Words

LEAST_NORMAL: Final = 0x00800000
_SIZES: Final = (
    0x00000000,
    0x00000001,  # the least subnormal
    0x00000003,
    0x00400000,
    0x007FFFFF,  # the largest subnormal
    LEAST_NORMAL,
    0x00800001,
    0x00FFFFFF,
    0x1F800000,  # 2^-64
    0x33000000,  # 2^-25: half a unit of 1, a tie
    0x33000001,
    0x33800000,  # 2^-24
    0x33800001,
    0x34000000,  # 2^-23: the unit of 1
    0x3EAAAAAB,
    0x3F000000,
    0x3F7FFFFF,
    0x3F800000,
    0x3F800001,
    0x3F800002,
    0x3FC00000,
    0x3FFFFFFF,
    0x40000000,
    0x40490FDB,
    0x4B000000,  # 2^23
    0x4B000001,
    0x4B7FFFFF,
    0x4B800000,  # 2^24
    0x5F800000,
    0x7E800000,
    0x7F000000,
    0x7F7FFFFE,
    0x7F7FFFFF,  # the largest number
    0x7F800000,
    0x7FC00000,
)
EDGES: Final[Words] = np.array([s | sign for s in _SIZES for sign in (0, 1 << 31)], np.uint32)


def is_tiny(bits: Words) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Tell of float32 bits whether they are subnormal, or so near that rounding may decide it."""
    size = bits & 0x7FFFFFFF
    tiny: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = (size > 0) & (size <= LEAST_NORMAL)
    return tiny


def near(rng: np.random.Generator, count: int, spread: int = 30) -> Words:
    """Draw `count` rows of four normal numbers whose exponents are within `spread` of each other,
    anywhere; every other row has few bits in its significands, which makes ties.
    """
    middle = rng.integers(1 + spread, 254 - spread, (count, 1))
    exponent = middle + rng.integers(-spread, spread + 1, (count, 4))
    significand = rng.integers(0, 1 << 23, (count, 4))
    significand[::2] &= 0x7FF800
    sign = rng.integers(0, 2, (count, 4)) << 31
    return (sign | exponent << 23 | significand).astype(np.uint32)


def pairs(first: Words, second: Words) -> Words:
    """Give rows of four words for all pairs: (x, y, x', y') with the neighbours of x and y."""
    x, y = (g.reshape(-1) for g in np.meshgrid(first, second, indexing="ij"))
    return np.stack([x, y, np.roll(x, 7), np.roll(y, 3)], axis=1).astype(np.uint32)


def words(rng: np.random.Generator, count: int) -> Words:
    """Draw `count` rows of four words: random bits, some of them all ones, all zeros, or short."""
    drawn = rng.integers(0, 1 << 32, (count, 4), np.uint64)
    short = drawn >> rng.integers(0, 32, (count, 4)).astype(np.uint64)
    fixed = np.array([0, 0xFFFFFFFF, 0x80000000, 1, 0x7FFFFFFF], np.uint64)
    kind = rng.integers(0, 4, (count, 4))
    chosen = np.choose(kind, [drawn, short, short, rng.choice(fixed, (count, 4))])
    return chosen.astype(np.uint32)

"""Quotients that decide whether a device's own division may be used: hard, wide and at the edges.

Division approximated by a reciprocal and corrections fails, if it does, where the quotient is
nearest to a midpoint of two float32 or to a float32, where a scaled operand or reciprocal becomes
subnormal, and at the ends of the range.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from vkml_backend_vulkan.selftest.operands import EDGES, near, pairs
from vkml_backend_vulkan.selftest.probe import Kernel, Probe, Words

HARD: Final = 2048
"""Divisors for which the nearest quotients are worked out."""
WIDE: Final = 8192
_TOP: Final = 1 << 23


def probe() -> Probe:
    """Give the probe of the device's own division; wanted is NumPy's, which is exact."""
    rng = np.random.default_rng(754)
    rows = np.concatenate([hard(rng), _wide(rng), pairs(EDGES, EDGES)[:, :2]])
    a, b = (np.ascontiguousarray(rows[:, k]).view(np.float32) for k in (0, 1))
    with np.errstate(all="ignore"):
        quotient = a / b
    quotient[np.isnan(quotient)] = np.nan
    return Probe("hardware divide", "exact", Kernel("div"), (a, b), quotient)


def among_others() -> Probe:
    """Give the probe of quotients that other calls of one kernel go on with: −(g · ((a/b)/b)),
    whose last product may be subnormal where the quotients are not.
    """
    rng = np.random.default_rng(1985)
    rows = np.concatenate([pairs(EDGES, EDGES), near(rng, WIDE), small_products(rng)])
    a, b, g = (np.ascontiguousarray(rows[:, k]).view(np.float32) for k in range(3))
    with np.errstate(all="ignore"):
        result = -(g * (a / b / b))
    result[np.isnan(result)] = np.nan
    return Probe("hardware divide among others", "exact", Kernel("div"), (a, b, g), result)


def small_products(rng: np.random.Generator) -> Words:
    """Give numbers near 1 in two columns and subnormal ones, or nearly, in the third."""
    rows = near(rng, WIDE, 1)
    rows[:, :2] = rows[:, :2] & 0x007FFFFF | 0x3F800000
    rows[:, 2] &= 0x81FFFFFF
    return rows


def hard(rng: np.random.Generator) -> Words:
    """Give quotients of 24 bits whose remainder is next to 0, to half the divisor or to all of it.

    For an odd divisor m and a remainder r the dividend is r 2^-s modulo m, where it has 24 bits.
    """
    found = []
    for m in (rng.integers(_TOP, 2 * _TOP, HARD) | 1).tolist():
        half = (m - 1) // 2
        for r in (1, half, half + 1, m - 1):
            dividend = r * pow(1 << 24, -1, m) % m
            found += [(d, m) for d in (dividend, dividend * 2 % m + m) if _TOP <= d < 2 * _TOP]
    return _scaled(rng, np.array(found, np.int64))


def _wide(rng: np.random.Generator) -> Words:
    """Give random significands, some of few bits: exact quotients, and ties among subnormals."""
    significands = rng.integers(_TOP, 2 * _TOP, (WIDE, 2))
    significands[::2] &= ~0 << rng.integers(8, 23, (WIDE // 2, 1))
    return _scaled(rng, significands)


def _scaled(
    rng: np.random.Generator, significands: np.ndarray[tuple[int, ...], np.dtype[np.int64]]
) -> Words:
    """Make float32 of significands: a third near 1, a third anywhere, a third around the least
    normal quotient, where a result or an operand may be subnormal.
    """
    count = len(significands)
    anywhere = rng.integers(0, 255, (count, 2))
    low = rng.integers(0, 120, count)
    small = np.stack([low, np.clip(low + 126 + rng.integers(-2, 24, count), 1, 254)], axis=1)
    kind = np.arange(count)[:, None] % 3
    near = rng.integers(120, 135, (count, 2))
    exponents = np.choose(kind, [near, anywhere, small])
    sign = rng.integers(0, 2, (count, 2)) << 31
    return (sign | exponents << 23 | (significands - _TOP)).astype(np.uint32)

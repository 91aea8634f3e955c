"""Products with a term added that decide whether a device's fma may be used: it must round once.

An fma that is made of a product and a sum fails where the product is not a float. One that is made
of wider numbers fails where they are rounded twice, at the ties of float32. Both are seen at what
products lack, and at the ends of the range.

Terms and results that are subnormal are left out: NVIDIA's driver flushes them in an fma, though
not in a sum or a product. The first phases that use it stay away from them.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from vkml_backend_vulkan.selftest.operands import EDGES, is_tiny, near, pairs
from vkml_backend_vulkan.selftest.probe import Form, Probe, Words

Doubles = np.ndarray[Any, np.dtype[np.float64]]
Singles = np.ndarray[Any, np.dtype[np.float32]]
TIES: Final = 4096
SMALL: Final = 4096
_NAN: Final = 0x7FC00000
_LOWEST: Final = 149
"""No bit of a float32 counts less than 2^-149."""


def probe() -> Probe:
    """Give the probe of the device's own fma; the form gives four results for a, b and c."""
    rng = np.random.default_rng(2008)
    rows = [pairs(EDGES, EDGES), near(rng, 8192), near(rng, 2048, 3), ties(rng), _small(rng)]
    x = np.concatenate(rows)
    product, *results = (_bits(r) for r in _results(x))
    wanted = np.stack(results, axis=1)
    is_kept = ~is_tiny(np.column_stack([x[:, :3], product, wanted])).any(axis=1)
    x, wanted = x[is_kept], wanted[is_kept]
    return Probe("hardware fma", "exact", Form("selftest.fused", 0), (x,), wanted)


def fma(a: Singles, b: Singles, c: Singles) -> Singles:
    """Give a b + c, rounded once: the product is exact in binary64, and a sum that is rounded to
    odd there keeps what decides the rounding to binary32.
    """
    with np.errstate(all="ignore"):
        product, term = a.astype(np.float64) * b, c.astype(np.float64)
        total = product + term
        back = total - product
        lost = (product - (total - back)) + (term - back)
        bits = total.view(np.int64)
        even = (bits & 1 == 0) & (lost != 0) & np.isfinite(lost)
        towards = np.where((lost > 0) == (total > 0), 1, -1)
        return (bits + np.where(even, towards, 0)).view(np.float64).astype(np.float32)


def _results(x: Words) -> list[Singles]:
    a, b, c = (np.ascontiguousarray(x[:, k]).view(np.float32) for k in range(3))
    with np.errstate(all="ignore"):
        product = a * b
    return [product, fma(a, b, c), fma(-a, b, c), fma(a, b, -c), fma(a, b, -product)]


def _bits(x: Singles) -> Words:
    return np.where(np.isnan(x), np.uint32(_NAN), x.view(np.uint32))


def ties(rng: np.random.Generator) -> Words:
    """Give sums next to a midpoint of two floats: (1 + d)(1 - d), half a unit of the term but for
    d^2, which is lost where the sum is rounded before it is rounded to binary32.
    """
    d = 2.0 ** -rng.integers(12, 24, TIES)
    term = rng.integers(1 << 23, 1 << 24, TIES) * 2.0
    scale = 2.0 ** rng.integers(-100, 100, TIES)
    columns = np.stack([(1 + d) * scale, 1 - d, term * scale], axis=1)
    return _rows(columns * (rng.integers(0, 2, (TIES, 3)) * 2 - 1))


def _small(rng: np.random.Generator) -> Words:
    """Give products around the least subnormal, with terms of that size."""
    exponent = rng.integers(-100, 40, SMALL)
    factor = rng.integers(1 << 23, 1 << 24, (SMALL, 2)) * 2.0**-23
    other = -_LOWEST - exponent + rng.integers(-3, 30, SMALL)
    term = rng.integers(-(1 << 12), 1 << 12, SMALL) * 2.0**-_LOWEST
    return _rows(np.stack([factor[:, 0] * 2.0**exponent, factor[:, 1] * 2.0**other, term], axis=1))


def _rows(columns: Doubles) -> Words:
    """Make rows of four words of three columns."""
    found = np.zeros((len(columns), 4), np.uint32)
    found[:, :3] = columns.astype(np.float32).view(np.uint32)
    return found

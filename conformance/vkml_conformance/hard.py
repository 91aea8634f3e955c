"""Operands whose results lie next to the middle of two floats, made by arithmetic on integers.

A float is m · 2^e with an integer m of at most 24 bits. All is float32, exact and reproducible.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from vkml_conformance.values import Array

Pair = tuple[Array, Array]
BITS: Final = 24
"""Bits of the significand."""
_LOWEST: Final = -149
"""Exponent of the smallest subnormal."""


def mixed(name: str, count: int) -> Array:
    """Give uniform 64-bit words that depend on a name: splitmix64 of a counter."""
    start = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
    with np.errstate(over="ignore"):
        z = np.uint64(start) + np.arange(1, count + 1, dtype=np.uint64) * _u(0x9E3779B97F4A7C15)
        z = (z ^ (z >> _u(30))) * _u(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> _u(27))) * _u(0x94D049BB133111EB)
        return np.asarray(z ^ (z >> _u(31)))


def _u(x: int) -> Any:
    return np.uint64(x)


def field(word: Array, low: int, width: int) -> Array:
    """Take bits of words as int64."""
    return np.asarray((word >> _u(low)) & _u((1 << width) - 1)).astype(np.int64)


def among(word: Array, low: int, first: int, last: int) -> Array:
    """Take 16 bits of words as integers from first to last."""
    return first + field(word, low, 16) % (last - first + 1)


def scaled(m: Array, e: Array) -> Array:
    """Give m · 2^e as float32; exact where it is representable."""
    return np.asarray(np.ldexp(m.astype(np.float64), e.astype(np.int32)).astype(np.float32))


def signed(x: Array, word: Array, bit: int) -> Array:
    """Give x or −x."""
    return np.where(field(word, bit, 1) == 1, -x, x)


def _inverse(b: Array) -> Array:
    """Invert odd integers modulo 2^32 by Newton's iteration."""
    x = b.astype(np.uint64)
    b64 = x.copy()
    for _ in range(5):
        x = x * (_u(2) - b64 * x)
    return x


def _odd(word: Array, low: int) -> Array:
    """Give odd integers of exactly 24 bits."""
    return field(word, low, BITS) | (1 << (BITS - 1)) | 1


def _quotients(word: Array, lost: Array) -> tuple[Array, Array]:
    """Give integers a, b with a/b = q/2^(25 − lost) ± little, q odd and of 25 − lost bits.

    q·b = a·2^(25 − lost) − r for a small odd r: so a/b is q/2^(25 − lost) but for r/(b·2^…).
    """
    width = (BITS + 1 - lost).astype(np.uint64)
    mask = (_u(1) << width) - _u(1)
    b, r = _odd(word, 0), 2 * field(word, 24, 3) + 1
    q = (mask + _u(1) - ((r.astype(np.uint64) * _inverse(b)) & mask)) & mask
    low = q < (_u(1) << (width - _u(1)))
    q, r = np.where(low, mask + _u(1) - q, q), np.where(low, -r, r)
    a = (q.astype(np.int64) * b + r) >> width.astype(np.int64)
    return a, b


def quotients(word: Array) -> Pair:
    """Give a, b whose quotient lies next to the middle of two normal floats."""
    a, b = _quotients(word, np.zeros(word.shape, np.int64))
    e = among(word, 28, -80, 40)
    numerator = scaled(a, e + among(word, 44, -60, 60))
    return signed(numerator, word, 63), scaled(b, e)


def small_quotients(word: Array) -> Pair:
    """Give a, b whose quotient lies next to the middle of two subnormals, one in four on it."""
    lost = among(word, 28, 2, 22)
    a, b = _quotients(word, lost)
    e = among(word, 44, 25, 80)
    near = scaled(a, e - 125 - lost), scaled(b, e)
    q = (field(word, 0, BITS) & ((1 << (BITS - lost)) - 1)) | (1 << (BITS - lost)) | 1
    d = (field(word, 24, 22) & ((1 << (lost - 1)) - 1)) | 1
    tie = scaled(q * d, e + _LOWEST - 1), scaled(d, e)
    on = field(word, 60, 2) == 0
    found = [np.where(on, t, n) for t, n in zip(tie, near, strict=True)]
    return signed(found[0], word, 63), found[1]


def products(word: Array) -> Pair:
    """Give a, b whose product often lies next to the middle of two floats, one in four on it."""
    a, r = _odd(word, 0), 2 * among(word, 24, -2, 1) + 1
    near = (_u(1) << _u(BITS - 1)) + r.astype(np.uint64)  # a·b is this modulo 2^24
    b = ((near * _inverse(a)) & _u((1 << BITS) - 1)).astype(np.int64)
    b = np.maximum(b, (1 << BITS) - b)
    width = among(word, 40, 2, BITS - 2)
    short = (a >> (BITS - width)) | 1, (field(word, 20, BITS) >> (width - 1)) | 1
    on = field(word, 60, 2) == 0
    a, b = np.where(on, short[0], a), np.where(on, short[1], b)
    left = scaled(a, among(word, 28, -80, 20))
    return signed(left, word, 63), scaled(b, among(word, 44, -60, 20))


def small_products(word: Array) -> Pair:
    """Give a float and a power of two whose product lies on or next to a middle of subnormals."""
    lost = among(word, 28, 1, 23)
    cut = np.int64(1) << lost
    m = _odd(word, 0) // cut * cut + cut // 2 + among(word, 44, -1, 1)
    e = among(word, 44, -120, -25)
    power = np.ones(word.shape, np.int64)
    return signed(scaled(m, e), word, 63), scaled(power, _LOWEST - lost - e)


def sums(word: Array) -> Pair:
    """Give a, b whose sum or difference lies on or next to the middle of two floats."""
    a, apart = _odd(word, 0) - field(word, 24, 1), among(word, 25, 1, 25)
    bits = np.minimum(apart, BITS - 1)
    m = _odd(word, 20) >> bits << bits
    b = m + (np.int64(1) << (bits - 1)) + among(word, 44, -1, 1)
    e = among(word, 28, -120, 80)
    return signed(scaled(a, e), word, 63), signed(scaled(b, e - apart), word, 62)


def roots(word: Array) -> tuple[Array]:
    """Give x whose square root lies next to the middle of two floats.

    x·2^26 = q² − c for an odd q of 25 bits and a small c: √(x·2^26) is q − c/(2q).
    """
    c = 8 * among(word, 0, -(1 << 13), 1 << 13) + 1
    q = np.ones(word.shape, np.int64)
    for i in range(3, BITS + 2):  # from a root modulo 2^i to one modulo 2^(i + 1)
        q += ((q * q - c) >> i & 1) << (i - 1)
    q &= (1 << (BITS + 1)) - 1
    q = np.where(q < 1 << BITS, (1 << (BITS + 1)) - q, q)
    x = (q * q - c) >> (BITS + 2)
    return (scaled(x, 2 * among(word, 28, -60, 50)),)


HARD: Final[dict[str, dict[str, Callable[[Array], tuple[Array, ...]]]]] = {
    "div": {"quotients": quotients, "small-quotients": small_quotients},
    "mul": {"products": products, "small-products": small_products},
    "add": {"sums": sums},
    "sub": {"sums": sums},
    "sqrt": {"roots": roots},
}
"""Makers of operands from random words, by row and name."""

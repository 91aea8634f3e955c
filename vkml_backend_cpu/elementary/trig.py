"""Sine, cosine and tangent over the whole float32 range.

The reduction of Payne and Hanek (1983) in integers: |x| = M 2^E with a 24-bit M. The table holds
2/pi 2^(E+126) modulo 2^128 for each E, so four 32-bit products give |x| 2/pi modulo 4 with 126
fractional bits and an error below 2^-102. By the continued fractions of 2/pi 2^E no float32 is
nearer than 2^-29.9 to a multiple of pi/2, so at least 72 bits of the remainder are right.
"""

import math
from fractions import Fraction

import numpy as np

from vkml_backend_cpu.elementary.exact import pi
from vkml_backend_cpu.elementary.polynomial import horner
from vkml_backend_cpu.elementary.rounding import Float64, Words, correctly_rounded

_UNREDUCED = 0.75  # below pi/4
_EXPONENTS = range(-1, 128)  # of the table: 0.5 <= |x| < 2^128


def _two_over_pi_limbs() -> list[Words]:
    """Four tables, lowest limb first, of floor(2/pi 2^(E+126)) mod 2^128, E = exponent - 23."""
    two_over_pi = 2 / Fraction(pi())
    windows = [int(two_over_pi * 2 ** (e - 23 + 126)) for e in _EXPONENTS]
    limbs = [[(w >> 32 * i) & 0xFFFFFFFF for w in windows] for i in range(4)]
    return [np.array(limb, dtype=np.uint64) for limb in limbs]


_LIMBS = _two_over_pi_limbs()
_LOW_WORD = 0xFFFFFFFF
_SCALE = float(Fraction(pi()) / 2) * 2.0**-62
_SIN = [(-1) ** n / math.factorial(2 * n + 1) for n in range(1, 9)]
_COS = [(-1) ** n / math.factorial(2 * n) for n in range(1, 10)]


def _turns(x: Float64) -> tuple[Words, Words]:
    """|x| 2/pi modulo 4 as 128 bits (high, low) with 126 fractional bits, for |x| >= 0.5."""
    bits = x.view(np.int64)
    row = ((bits >> 52) & 0x7FF) - (1023 - 1)
    significand = (((bits >> 29) & 0x7FFFFF) | 0x800000).view(np.uint64)
    words = []
    carry: Words | np.uint64 = np.uint64(0)
    for limb in _LIMBS:
        product = significand * limb.take(row, mode="clip") + carry
        words.append(product & _LOW_WORD)
        carry = product >> 32
    return (words[3] << 32) | words[2], (words[1] << 32) | words[0]


def _reduce(x: Float64) -> tuple[Words, Float64]:
    """(k, r) with |x| = k pi/2 + r modulo 2 pi, |r| <= pi/4; relative error of r below 3u."""
    high, low = _turns(x)
    k = (high + (1 << 61)) >> 62
    rest = (high - (k << 62)).view(np.int64)
    # 53 bits of the low word suffice, and an int64 converts exactly and quickly.
    tail = (low >> 11).view(np.int64).astype(np.float64) * 2.0**-53
    r = (rest.astype(np.float64) + tail) * _SCALE
    size = np.abs(x)
    direct = size < _UNREDUCED
    return np.where(direct, np.uint64(0), k), np.where(direct, size, r)


def _sin_cos_reduced(r: Float64) -> tuple[Float64, Float64]:
    """(sin r, cos r) for |r| <= pi/4 by Taylor to r^17 and r^18; relative errors below 2u."""
    square = r * r
    return r + r * (square * horner(square, _SIN)), 1 + square * horner(square, _COS)


def _select(k: Words, sin: Float64, cos: Float64) -> Float64:
    """Sine of k pi/2 + r."""
    value = np.where((k & 1) == 1, cos, sin)
    return np.where((k & 2) == 2, -value, value)


@correctly_rounded(2.0**-48, limits={0.0: 0.0}, signed_zero=True)
def sin(x: Float64) -> Float64:
    """Sine, x in radians; error below 6u (3u of r and its polynomial). Zero keeps its sign."""
    k, r = _reduce(x)
    value = _select(k, *_sin_cos_reduced(r))
    return np.where(x < 0, -value, value)


@correctly_rounded(2.0**-48)
def cos(x: Float64) -> Float64:
    """Cosine, x in radians; error below 6u."""
    k, r = _reduce(x)
    return _select(k + 1, *_sin_cos_reduced(r))


@correctly_rounded(2.0**-47, limits={0.0: 0.0}, signed_zero=True)
def tan(x: Float64) -> Float64:
    """Tangent, x in radians; error below 10u: r counts up to pi/2 fold, then both polynomials."""
    k, r = _reduce(x)
    s, c = _sin_cos_reduced(r)
    odd = (k & 1) == 1
    value = np.where(odd, -c, s) / np.where(odd, s, c)
    return np.where(x < 0, -value, value)

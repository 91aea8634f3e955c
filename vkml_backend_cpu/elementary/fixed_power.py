"""The written fixed-point algorithm of pow, docs/pow.md, in uint64 arithmetic.

Everything is an integer: 64-bit words, products of 32-bit halves, shifts and table look-ups, so
a shader with 32-bit words computes the same bits. Qn means n fractional bits. The names and the
steps are those of the document.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vkml_backend_cpu.elementary.polynomial import LN2, ln, root_of_two
from vkml_backend_cpu.elementary.rounding import Bool, Float32, Words

Wide = tuple[Words, Words]  # (high, low) words of a 128-bit number

_LOW = 0xFFFFFFFF
_FIRST_CENTRE, _LAST_CENTRE = 90, 181
TIE_WINDOW = 1 << 10


def _reciprocals() -> list[int]:
    """c_i = 256 over the middle of the interval [i, i+1)/128; 1 on both sides of 1."""
    return [
        256 if i in (127, 128) else round(2 * 256 * 128 / (2 * i + 1))
        for i in range(_FIRST_CENTRE, _LAST_CENTRE + 1)
    ]


def _words(values: list[int]) -> Words:
    return np.array([value % 2**64 for value in values], dtype=np.uint64)


_C = _reciprocals()
_MINUS_LOG2_C = [round(-ln(Fraction(c, 256)) / LN2 * 2**95) for c in _C]
_RECIPROCAL = _words(_C)
_LOG_HIGH, _LOG_LOW = _words([v >> 64 for v in _MINUS_LOG2_C]), _words(_MINUS_LOG2_C)
_LOG_SERIES = [round(2**63 / (LN2 * (k + 1))) for k in range(9)]
_EXP_SERIES = [int(LN2**k / math.factorial(k) * 2**64) for k in range(1, 8)]
_ROOT = _words([int(root_of_two(j, 128) * 2**63) for j in range(128)])


def _scale(a: Words, b: Words) -> Words:
    """a b / 2^32, rounded down, for a < 2^32 and a b < 2^96."""
    scaled: Words = a * (b >> 32) + (a * (b & _LOW) >> 32)
    return scaled


def _multiply(a: Words, b: Words) -> Wide:
    """The 128-bit product of a < 2^32 and b < 2^64."""
    return _scale(a, b) >> 32, a * b


def _high_word(a: Words, b: Words) -> Words:
    """a b / 2^64, rounded down."""
    a1, a0, b1, b0 = a >> 32, a & _LOW, b >> 32, b & _LOW
    middle = a1 * b0 + (a0 * b0 >> 32)
    cross = a0 * b1 + (middle & _LOW)
    high: Words = a1 * b1 + (middle >> 32) + (cross >> 32)
    return high


def _add(a: Wide, b: Wide) -> Wide:
    low = a[1] + b[1]
    return a[0] + b[0] + (low < a[1]), low


def _negate_if(mask: Words, a: Wide) -> Wide:
    """-a where ``mask`` is all ones, a where it is 0 (two's complement)."""
    low: Words = (a[1] ^ mask) - mask
    return (a[0] ^ mask) + ((mask & 1) & (low == 0)), low


def _mask(condition: Bool) -> Words:
    return np.uint64(0) - condition.astype(np.uint64)


def _bit_length(a: Words) -> Words:
    """Bits of a nonzero a < 2^53."""
    return (a.astype(np.float64).view(np.uint64) >> 52) - 1022


def _significand(x: Float32) -> tuple[Words, NDArray[np.int64]]:
    """(M, e) with |x| = M 2^e, M < 2^24, for finite x."""
    bits = x.view(np.uint32)
    field = ((bits >> 23) & 0xFF).astype(np.int64)
    significand = (bits & 0x7FFFFF).astype(np.uint64) | ((field > 0).astype(np.uint64) << 23)
    return significand, np.maximum(field, 1) - 150


def _log2(x: Float32) -> Wide:
    """log2 x as a signed Q95, for positive finite x (steps 1 to 3)."""
    significand, e = _significand(x)
    shift = 24 - _bit_length(significand)
    m = significand << shift
    above = m > 0xB504F3
    exponent = e - shift.view(np.int64) + 23 + above
    m = np.where(above, m, m << 1)
    index = (m >> 17).view(np.int64) - _FIRST_CENTRE
    z = m * _RECIPROCAL.take(index, mode="clip") - (1 << 32)
    negative = _mask(z.view(np.int64) < 0)
    size = (z ^ negative) - negative
    series = np.full_like(size, _LOG_SERIES[-1])
    for coefficient in _LOG_SERIES[-2::-1]:
        term = _scale(size, series)
        series = coefficient - ((term ^ negative) - negative)
    fraction = _negate_if(negative, _multiply(size, series))
    entry = _LOG_HIGH.take(index, mode="clip"), _LOG_LOW.take(index, mode="clip")
    whole = (exponent << 31).view(np.uint64), np.zeros_like(z)
    return _add(whole, _add(entry, fraction))


def _times(log: Wide, y: Float32) -> tuple[NDArray[np.int64], Words]:
    """(n, f) with y log = n + f, n an integer and f a Q64 fraction (steps 4 and 5)."""
    log_negative = _mask(log[0].view(np.int64) < 0)
    high, low = _negate_if(log_negative, log)
    shift = 64 - _bit_length(high)
    normal = (high << shift) | (low >> (64 - shift))
    significand, e = _significand(y)
    high, low = _multiply(significand, normal)
    right = shift.view(np.int64) - 33 - e
    near = np.clip(right, 15, 63).astype(np.uint64)
    far = np.clip(right - 64, 0, 63).astype(np.uint64)
    is_near = right < 64
    fraction = np.where(is_near, (low >> near) | (high << (64 - near)), high >> far)
    whole = np.where(is_near, high >> near, np.uint64(0))
    whole = np.where(right < 15, np.uint64(256), whole)
    negative = log_negative ^ _mask(y < 0)
    whole, fraction = _negate_if(negative, (whole, fraction))
    return whole.view(np.int64), fraction


def _exp2(f: Words) -> Words:
    """2^f for a Q64 fraction, as a Q62 in [2^62, 2^63) (step 6)."""
    root = _ROOT.take((f >> 57).view(np.int64), mode="clip")
    g = f & ((1 << 57) - 1)
    series = np.full_like(g, _EXP_SERIES[-1])
    for coefficient in _EXP_SERIES[-2::-1]:
        series = coefficient + _high_word(g, series)
    return (root + _high_word(root, _high_word(g, series))) >> 1


def _round(n: NDArray[np.int64], r: Words) -> Float32:
    """The float32 nearest to 2^n r, r a Q62 in [1, 2) (step 7)."""
    n = np.clip(n, -151, 128)
    drop = np.clip(-87 - n, 39, 63).astype(np.uint64)
    kept = r >> drop
    half = np.uint64(1) << (drop - 1)
    beyond = ((r & ((half << 1) - 1)) - half).view(np.int64)
    tie = np.abs(beyond) <= TIE_WINDOW
    up = np.where(tie, (kept & 1) == 1, beyond > 0)
    bits = (np.maximum(n + 126, 0) << 23) + (kept + up).view(np.int64)
    bits = np.where(n < -150, 0, np.minimum(bits, 0x7F800000))
    return bits.astype(np.uint32).view(np.float32)


def power(x: Float32, y: Float32) -> Float32:
    """x^y for positive finite x other than 1 and finite y, as one-dimensional arrays."""
    n, f = _times(_log2(x), y)
    return _round(n, _exp2(f))

"""Exponentials and logarithms: exp exp2 expm1 sigmoid tanh, log log2 log10 log1p.

Error arguments count in u = 2^-53, the error of one float64 rounding. Each stated bound leaves a
factor of at least four over the sum of the errors (the tests measure it).

exp: x = (k/128) ln 2 + r with |r| <= ln2/256 (and a little), e^x = 2^(k>>7) T[k mod 128] (1 + p),
p = e^r - 1 by Taylor to r^6. log: x = 2^k m with m in [0.75, 1.5), c = m to 7 bits,
log x = k ln 2 + L[c] + log(1 + r), r = (m - c)/c with |r| < 2^-7.5, by Taylor to r^7.
"""

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vkml_backend_cpu.elementary.polynomial import LN2, horner, ln, power_of_two, root_of_two
from vkml_backend_cpu.elementary.rounding import Float64, correctly_rounded

_STEPS = 128
_ROOTS = [root_of_two(j, _STEPS) for j in range(_STEPS)]
_ROOT = np.array([float(root) for root in _ROOTS])
_ROOT_LOW = np.array([float(root - Fraction(float(root))) for root in _ROOTS])
_EXPM1_LIMITS = {0.0: 0.0, -math.inf: -1.0, math.inf: math.inf}
_EXPM1 = [1 / math.factorial(n) for n in range(1, 7)]

# ln2/128 in two parts; the first has 38 bits, so its product with |k| < 2^15 is exact.
_STEP = LN2 / _STEPS
_STEP_HIGH = round(_STEP * 2**45) / 2**45
_STEP_LOW = float(_STEP - Fraction(_STEP_HIGH))
_STEPS_PER_UNIT = float(_STEPS / LN2)
_LN2, _LOG2_E, _LOG10_E = float(LN2), float(1 / LN2), float(1 / ln(10))

_LOG_OF_CENTRE = np.array([float(ln(Fraction(c, 128))) for c in range(96, 193)])
_LOG1P_LIMITS = {0.0: 0.0, -1.0: -math.inf, math.inf: math.inf}
_LOG_LIMITS = {0.0: -math.inf, math.inf: math.inf}
_LOG1P = [(-1) ** n / (n + 1) for n in range(7)]
_BITS_OF_THREE_QUARTERS = np.int64(0x3FE8 << 48)


def _expm1_small(r: Float64) -> Float64:
    """e^r - 1 for |r| < 2^-8.5, relative error below 2u + 2^-64."""
    return r * horner(r, _EXPM1)


def _reduce(x: Float64) -> tuple[NDArray[np.int64], Float64]:
    """(k, r) with x = k ln2/128 + r, for |x| < 150 of at most 48 bits.

    x - k _STEP_HIGH is exact (k has 15 bits, the difference 48), so r has an absolute error below
    2^-61 + 2u |r|, and for k = 0 none.
    """
    k = np.rint(x * _STEPS_PER_UNIT)
    return k.astype(np.int64), (x - k * _STEP_HIGH) - k * _STEP_LOW


def _scaled_root(k: NDArray[np.int64], r: Float64) -> Float64:
    """2^(k/128) e^r; relative error below 3u, that of the argument left out.

    The table entry, the last addition and p, itself below 2^-8: u + u + less than u/2.
    """
    root = _ROOT.take(k & (_STEPS - 1), mode="clip")
    scaled: Float64 = (root + root * _expm1_small(r)) * power_of_two(k >> 7)
    return scaled


def exp_float64(x: Float64) -> Float64:
    """e^x for |x| < 150 of at most 48 bits; relative error below 3u."""
    return _scaled_root(*_reduce(x))


def _expm1_float64(x: Float64) -> Float64:
    """e^x - 1 = (T 2^n - 1) + 2^n (T p + T_low) for |x| < 150; relative error below 8u.

    For k = 0 the value is p itself. For other k the first difference is exact or rounded once,
    the low part of the table removes the error of T, and the second term is at most half of the
    first and may cancel it down to a half.
    """
    k, r = _reduce(x)
    index = k & (_STEPS - 1)
    scale = power_of_two(k >> 7)
    root = _ROOT.take(index, mode="clip")
    low = root * _expm1_small(r) + _ROOT_LOW.take(index, mode="clip")
    value: Float64 = (root * scale - 1) + low * scale
    return value


def _clip(x: Float64, low: float, high: float) -> Float64:
    return np.minimum(np.maximum(x, low), high)


@correctly_rounded(2.0**-49, limits={-math.inf: 0.0, math.inf: math.inf})
def exp(x: Float64) -> Float64:
    """e^x; error below 3u. Beyond ±150 every result has long become 0 or Inf."""
    return exp_float64(_clip(x, -150, 150))


@correctly_rounded(2.0**-49, limits={-math.inf: 0.0, math.inf: math.inf})
def exp2(x: Float64) -> Float64:
    """2^x; error below 4u: r = (x - k/128) ln 2 has one exact difference and a product.

    exp2(-150) is the only exact midpoint of all these functions; half to even makes it 0.
    """
    clipped = _clip(x, -150, 150)
    k = np.rint(clipped * _STEPS)
    r = (clipped - k / _STEPS) * _LN2
    return np.where(x <= -150, 0.0, _scaled_root(k.astype(np.int64), r))


@correctly_rounded(2.0**-48, limits=_EXPM1_LIMITS, signed_zero=True)
def expm1(x: Float64) -> Float64:
    """e^x - 1; error below 8u. Zero keeps its sign."""
    return _expm1_float64(_clip(x, -150, 150))


@correctly_rounded(2.0**-48, limits={-math.inf: 0.0, math.inf: 1.0})
def sigmoid(x: Float64) -> Float64:
    """1 / (1 + e^-x); error below 5u, that of e^-x and two roundings."""
    return 1 / (1 + exp_float64(_clip(-x, -150, 150)))


@correctly_rounded(2.0**-48, limits={0.0: 0.0, -math.inf: -1.0, math.inf: 1.0}, signed_zero=True)
def tanh(x: Float64) -> Float64:
    """E / (E + 2) with E = e^(2|x|) - 1; error below 10u. Zero keeps its sign."""
    grown = _expm1_float64(np.minimum(np.abs(x) * 2, 100))
    return np.copysign(grown / (grown + 2), x)


def _split(x: Float64) -> tuple[Float64, Float64]:
    """(k, log m) with x = 2^k m, m in [0.75, 1.5), for positive normal x.

    m - c is exact, so r has one rounding and the series an error below 2u; next to m = 1 the
    table entry is 0, elsewhere the sum is at least half the entry: relative error below 5u.
    """
    bits = x.view(np.int64)
    k = (bits - _BITS_OF_THREE_QUARTERS) >> 52
    m = (bits - (k << 52)).view(np.float64)
    steps = np.rint(m * 128)
    c = steps / 128
    r = (m - c) / c
    entry = _LOG_OF_CENTRE.take(steps.astype(np.int64) - 96, mode="clip")
    return k.astype(np.float64), entry + r * horner(r, _LOG1P)


def log_float64(x: Float64) -> Float64:
    """Natural logarithm of positive normal x; relative error below 10u.

    For k != 0 the sum is at least 0.28 and k ln 2 at most 2.4 times the sum.
    """
    k, log_m = _split(x)
    return k * _LN2 + log_m


@correctly_rounded(2.0**-47, low=0.0, limits=_LOG_LIMITS)
def log(x: Float64) -> Float64:
    """Natural logarithm; error below 10u."""
    return log_float64(x)


@correctly_rounded(2.0**-47, low=0.0, limits=_LOG_LIMITS)
def log2(x: Float64) -> Float64:
    """k + log2 m; error below 12u, and exact for powers of two."""
    k, log_m = _split(x)
    return k + log_m * _LOG2_E


@correctly_rounded(2.0**-47, low=0.0, limits=_LOG_LIMITS)
def log10(x: Float64) -> Float64:
    """log x times 1/ln 10; error below 12u."""
    return log_float64(x) * _LOG10_E


@correctly_rounded(2.0**-47, low=-1.0, limits=_LOG1P_LIMITS, signed_zero=True)
def log1p(x: Float64) -> Float64:
    """log u + d/u, where u = fl(1 + x) and d = 1 + x - u exactly (TwoSum); error below 14u.

    The term left out, (d/u)^2 / 2, is below u^2 and x^2 / 2.
    """
    u = 1 + x
    back = u - 1
    d = (1 - (u - back)) + (x - back)
    return log_float64(u) + d / u

"""Elementary functions in float64, with bounds of the error: the first phase of their rounding.

The algorithms are those of the oracle (vkml_backend_cpu/elementary), where each bound is proved:
the same operations in the same order, one element at a time. Arguments are finite and inside of
where the function has a value; `elementary` sees to it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Final

import numpy as np
from vkml_backend_cpu.elementary.erfc_table import CENTRE, COEFFICIENTS
from vkml_backend_cpu.elementary.exact import pi
from vkml_backend_cpu.elementary.polynomial import LN2, ln, root_of_two

from vkml_backend_numba.compiling import kernel
from vkml_backend_numba.kernels.memory import double_of, long_of

_ROOTS = [root_of_two(j, 128) for j in range(128)]
_ROOT: Final = np.array([float(root) for root in _ROOTS])
_ROOT_LOW: Final = np.array([float(root - Fraction(float(root))) for root in _ROOTS])
_STEP = LN2 / 128
_STEP_HIGH: Final = round(_STEP * 2**45) / 2**45
_STEP_LOW: Final = float(_STEP - Fraction(_STEP_HIGH))
_PER_UNIT: Final = float(128 / LN2)
_LN2, _LOG2_E, _LOG10_E = float(LN2), float(1 / LN2), float(1 / ln(10))
_CENTRES: Final = np.array([float(ln(Fraction(c, 128))) for c in range(96, 193)])
_E1, _E2, _E3, _E4, _E5, _E6 = (1 / math.factorial(n) for n in range(1, 7))
_L = [(-1) ** n / (n + 1) for n in range(7)]
_L0, _L1, _L2, _L3, _L4, _L5, _L6 = _L
_SLOPE = 2 / Fraction(pi().sqrt())
_ERF: Final = tuple(
    float(_SLOPE * (-1) ** n / (math.factorial(n) * (2 * n + 1))) for n in reversed(range(14))
)
_ERFC: Final = tuple(reversed(COEFFICIENTS))
_THREE_QUARTERS: Final = 0x3FE8 << 48
_MAGIC: Final = 1.5 * 2.0**52
"""Added to a float64 below 2^51, it leaves the nearest integer in the low bits."""
_MAGIC_BITS: Final = int(np.float64(_MAGIC).view(np.int64))


@kernel
def _clip(x, low, high):
    x = low if x < low else x
    return high if x > high else x


@kernel
def _expm1_small(r):
    return r * (_E1 + r * (_E2 + r * (_E3 + r * (_E4 + r * (_E5 + r * _E6)))))


@kernel
def _power_of_two(n):
    return double_of((n + 1023) << 52)


@kernel
def _scaled_root(k, r):
    root = _ROOT[k & 127]
    return (root + root * _expm1_small(r)) * _power_of_two(k >> 7)


@kernel
def exp_of(x):
    """Give eˣ for |x| < 150."""
    shifted = x * _PER_UNIT + _MAGIC
    k = shifted - _MAGIC
    return _scaled_root(long_of(shifted) - _MAGIC_BITS, (x - k * _STEP_HIGH) - k * _STEP_LOW)


@kernel
def _expm1_of(x):
    shifted = x * _PER_UNIT + _MAGIC
    k = shifted - _MAGIC
    whole = long_of(shifted) - _MAGIC_BITS
    r = (x - k * _STEP_HIGH) - k * _STEP_LOW
    scale = _power_of_two(whole >> 7)
    root = _ROOT[whole & 127]
    low = root * _expm1_small(r) + _ROOT_LOW[whole & 127]
    return (root * scale - 1.0) + low * scale


@kernel
def exp(x):
    """eˣ."""
    return exp_of(_clip(x, -150.0, 150.0))


@kernel
def exp2(x):
    """2ˣ."""
    clipped = _clip(x, -150.0, 150.0)
    shifted = clipped * 128.0 + _MAGIC
    k = shifted - _MAGIC
    value = _scaled_root(long_of(shifted) - _MAGIC_BITS, (clipped - k / 128.0) * _LN2)
    return 0.0 if x <= -150.0 else value


@kernel
def expm1(x):
    """eˣ − 1."""
    return _expm1_of(_clip(x, -150.0, 150.0))


@kernel
def sigmoid(x):
    """1/(1 + e⁻ˣ)."""
    return 1.0 / (1.0 + exp_of(_clip(-x, -150.0, 150.0)))


@kernel
def tanh(x):
    """Hyperbolic tangent."""
    doubled = abs(x) * 2.0
    grown = _expm1_of(100.0 if doubled > 100.0 else doubled)
    return math.copysign(grown / (grown + 2.0), x)


@kernel
def _log_parts(x):
    bits = long_of(x)
    k = (bits - _THREE_QUARTERS) >> 52
    m = double_of(bits - (k << 52))
    shifted = m * 128.0 + _MAGIC
    c = (shifted - _MAGIC) / 128.0
    r = (m - c) / c
    series = _L0 + r * (_L1 + r * (_L2 + r * (_L3 + r * (_L4 + r * (_L5 + r * _L6)))))
    return float(k), _CENTRES[(long_of(shifted) - _MAGIC_BITS) - 96] + r * series


@kernel
def log(x):
    """Natural logarithm."""
    k, part = _log_parts(x)
    return k * _LN2 + part


@kernel
def log2(x):
    """Logarithm to base 2."""
    k, part = _log_parts(x)
    return k + part * _LOG2_E


@kernel
def log10(x):
    """Logarithm to base 10."""
    return log(x) * _LOG10_E


@kernel
def log1p(x):
    """ln(1 + x)."""
    u = 1.0 + x
    back = u - 1.0
    return log(u) + ((1.0 - (u - back)) + (x - back)) / u


@kernel
def rsqrt(x):
    """1/√x."""
    return 1.0 / math.sqrt(x)


@kernel
def _erf_near(x):
    square, total = x * x, _ERF[0]
    for i in range(1, 14):
        total = total * square + _ERF[i]
    return x * total


@kernel
def _erfc_far(a):
    t = (a - CENTRE) / (a + CENTRE)
    total = _ERFC[0]
    for i in range(1, 22):
        total = total * t + _ERFC[i]
    return exp_of(-a * a) * total / (1.0 + 2.0 * a)


@kernel
def erf(x):
    """Error function."""
    a = abs(x)
    if a < 0.5:
        return _erf_near(x)
    return math.copysign(1.0 - _erfc_far(_clip(a, 0.5, 11.0)), x)


@kernel
def erfc(x):
    """1 − erf(x)."""
    a = abs(x)
    if a < 0.5:
        return 1.0 - _erf_near(x)
    far = _erfc_far(_clip(a, 0.5, 11.0))
    return 2.0 - far if x < 0.0 else far

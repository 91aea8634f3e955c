"""The error function and its complement.

Up to 1/2 erf is x P(x^2) by its Taylor series and erfc = 1 - erf; above, erfc(a) is
e^(-a^2) G(t) / (1 + 2a) with the generated polynomial G, and erf = 1 - erfc. Negative arguments
use erf(-a) = -erf(a) and erfc(-a) = 2 - erfc(a). Errors count in u = 2^-53.
"""

import math
from fractions import Fraction

import numpy as np

from vkml_backend_cpu.elementary.erfc_table import CENTRE, COEFFICIENTS
from vkml_backend_cpu.elementary.exact import pi
from vkml_backend_cpu.elementary.explog import exp_float64
from vkml_backend_cpu.elementary.polynomial import horner
from vkml_backend_cpu.elementary.rounding import Float64, correctly_rounded

_TAYLOR_END = 0.5
_FAR = 11.0  # erfc is below 2^-150 from 10.2 on
_SLOPE = 2 / Fraction(pi().sqrt())
_SERIES = [float(_SLOPE * (-1) ** n / (math.factorial(n) * (2 * n + 1))) for n in range(14)]


def _erf_near(x: Float64) -> Float64:
    """Erf for |x| < 1/2 (x^28 is left out); relative error below 3u."""
    return x * horner(x * x, _SERIES)


def _erfc_far(a: Float64) -> Float64:
    """Erfc for 1/2 <= a <= 11; relative error below 16u.

    a^2 has 48 bits and is exact, so the exponential is good to 3u; the sum of |c_n t^n| is below
    1.3 G, which keeps the Horner error below 8u with that of t; two roundings remain.
    """
    t = (a - CENTRE) / (a + CENTRE)
    return exp_float64(-a * a) * horner(t, COEFFICIENTS) / (1 + 2 * a)


@correctly_rounded(2.0**-48, limits={0.0: 0.0, -math.inf: -1.0, math.inf: 1.0}, signed_zero=True)
def erf(x: Float64) -> Float64:
    """2/sqrt(pi) times the integral of e^(-t^2) from 0 to x; error below 20u. Keeps -0."""
    a = np.abs(x)
    far = 1 - _erfc_far(np.minimum(np.maximum(a, _TAYLOR_END), _FAR))
    near = np.minimum(np.maximum(x, -_TAYLOR_END), _TAYLOR_END)
    return np.where(a < _TAYLOR_END, _erf_near(near), np.copysign(far, x))


@correctly_rounded(2.0**-47, limits={-math.inf: 2.0, math.inf: 0.0})
def erfc(x: Float64) -> Float64:
    """1 - erf(x), down to the smallest subnormal result; error below 20u."""
    a = np.abs(x)
    far = _erfc_far(np.minimum(np.maximum(a, _TAYLOR_END), _FAR))
    near = 1 - _erf_near(np.minimum(np.maximum(x, -_TAYLOR_END), _TAYLOR_END))
    return np.where(a < _TAYLOR_END, near, np.where(x < 0, 2 - far, far))

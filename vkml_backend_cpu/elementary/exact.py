"""The slow and certain evaluation: 240 decimal digits, then one rounding to float32.

It serves the few inputs (about one in ten million) whose float64 value lies too near a rounding
boundary; their results are neither 0 nor Inf nor, for erf and tanh, ±1. Every formula below keeps
more than 60 correct digits: the worst cancellation is that of erfc(x) = 1 - erf(x) near x = 10
and of tiny arguments (45 digits), the largest loss in a reduction is 39 digits (sin of 3e38). No
float32 input of these functions, exp2(-150) apart, comes nearer than 2^-80 (25 digits) to a
midpoint, so 60 digits decide them all.
"""

import math
from collections.abc import Callable
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import cache

import numpy as np

DIGITS = 240
TRUSTED_DIGITS = 60

_CONTEXT = Context(prec=DIGITS, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])
_NEGLIGIBLE = Decimal(10) ** -DIGITS


@cache
def pi() -> Decimal:
    """Pi to DIGITS digits, by Machin's formula 4 (4 arctan(1/5) - arctan(1/239))."""
    one = 10 ** (DIGITS + 20)

    def arctan_of_inverse(n: int) -> int:
        power, total, k = one // n, 0, 1
        while power:
            total += power // k if k % 4 == 1 else -(power // k)
            power, k = power // (n * n), k + 2
        return total

    scaled = 4 * (4 * arctan_of_inverse(5) - arctan_of_inverse(239))
    return Decimal(f"{scaled}e-{DIGITS + 20}")  # exact: constructors do not round


def _sum_series(first: Decimal, factor: Callable[[int], Decimal]) -> Decimal:
    """Sum of the terms t_0 = first, t_k = t_(k-1) factor(k), until they no longer count."""
    term, total, k = first, first, 0
    while abs(term) > _NEGLIGIBLE * abs(total):
        k += 1
        term *= factor(k)
        total += term
    return total


def _sin_cos(x: Decimal) -> tuple[Decimal, Decimal]:
    """(sin x, cos x) by reduction to [-pi/4, pi/4] and Taylor series."""
    quarter = pi() / 2
    turns = (x / quarter).to_integral_value()
    r = x - turns * quarter
    square = -r * r
    sin = _sum_series(r, lambda k: square / (2 * k * (2 * k + 1)))
    cos = _sum_series(Decimal(1), lambda k: square / (2 * k * (2 * k - 1)))
    return [(sin, cos), (cos, -sin), (-sin, -cos), (-cos, sin)][int(turns) % 4]


def _tan(x: Decimal) -> Decimal:
    sin, cos = _sin_cos(x)
    return sin / cos


def _expm1(x: Decimal) -> Decimal:
    return x.exp() - 1


def _tanh(x: Decimal) -> Decimal:
    grown = _expm1(2 * x)
    return grown / (grown + 2)


def _erf(x: Decimal) -> Decimal:
    """Erf by 2/sqrt(pi) exp(-x^2) (x + 2x^3/3 + 4x^5/15 + ...), whose terms have one sign."""
    square = x * x
    series = _sum_series(x, lambda k: 2 * square / (2 * k + 1))
    return 2 / pi().sqrt() * (-square).exp() * series


EVALUATORS: dict[str, Callable[[Decimal], Decimal]] = {
    "exp": lambda x: x.exp(),
    "exp2": lambda x: (x * Decimal(2).ln()).exp(),
    "expm1": _expm1,
    "log": lambda x: x.ln(),
    "log2": lambda x: x.ln() / Decimal(2).ln(),
    "log10": lambda x: x.log10(),
    "log1p": lambda x: (1 + x).ln(),
    "sin": lambda x: _sin_cos(x)[0],
    "cos": lambda x: _sin_cos(x)[1],
    "tan": _tan,
    "tanh": _tanh,
    "sigmoid": lambda x: 1 / (1 + (-x).exp()),
    "erf": _erf,
    "erfc": lambda x: 1 - _erf(x),
    "rsqrt": lambda x: 1 / x.sqrt(),
}


def round_to_float32(value: Fraction) -> np.float32:
    """The float32 nearest to ``value``, ties to even; subnormal results kept, Inf on overflow."""
    if value == 0:
        return np.float32(0)
    magnitude = abs(value)
    exponent = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    if magnitude < Fraction(2) ** exponent:
        exponent -= 1
    unit = max(exponent - 23, -149)
    rounded = math.ldexp(round(magnitude / Fraction(2) ** unit), unit)
    if rounded >= 2.0**128:
        rounded = math.inf
    return np.float32(math.copysign(rounded, value))


def evaluate(name: str, x: float) -> np.float32:
    """The correctly rounded float32 value of the function ``name`` at ``x``.

    Raises ArithmeticError if 60 digits cannot decide, which would contradict the proof above.
    """
    with localcontext(_CONTEXT):
        value = Fraction(EVALUATORS[name](Decimal(x)))
    error = abs(value) / 10**TRUSTED_DIGITS
    low, high = round_to_float32(value - error), round_to_float32(value + error)
    if low != high:
        raise ArithmeticError(f"{name}({x.hex()}) is nearer than 1e-{TRUSTED_DIGITS} to a midpoint")
    return low

"""Polynomials, and rational constants from which the tables are rounded."""

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]

_CONTEXT = Context(prec=50)


def ln(x: int | Fraction) -> Fraction:
    """Natural logarithm of an integer or dyadic fraction to 50 digits."""
    quotient = _CONTEXT.divide(Decimal(x.numerator), Decimal(x.denominator))
    return Fraction(_CONTEXT.ln(quotient))


LN2 = ln(2)


@cache
def root_of_two(j: int, n: int) -> Fraction:
    """2^(j/n) to 48 digits."""
    exponent = _CONTEXT.divide(_CONTEXT.multiply(_CONTEXT.ln(Decimal(2)), Decimal(j)), Decimal(n))
    return Fraction(_CONTEXT.exp(exponent))


def horner(x: Float64, coefficients: Sequence[float]) -> Float64:
    """c[0] + c[1] x + c[2] x^2 + ..., evaluated from the last coefficient on."""
    total = np.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total *= x
        total += coefficient
    return total


def power_of_two(n: NDArray[np.int64]) -> Float64:
    """2^n for -1022 <= n <= 1023, made from the exponent field."""
    return ((n + 1023) << 52).view(np.float64)

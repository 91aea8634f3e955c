"""IEEE 754 arithmetic by exact fractions: every result is rounded here, by integer arithmetic."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final


@dataclass(frozen=True)
class Format:
    """A binary format: bits of the significand, exponents of its last bit."""

    precision: int
    least: int
    largest: int


BINARY32: Final = Format(24, -149, 104)
BINARY16: Final = Format(11, -24, 5)


def nearest(value: Fraction, to: Format = BINARY32) -> float:
    """Round to nearest, ties to even; a result of zero is +0."""
    size = abs(value)
    # The quotient of n and m bits is below 2^(n − m + 1) and above 2^(n − m − 1).
    scale = size.numerator.bit_length() - size.denominator.bit_length()
    scale -= size < Fraction(2) ** scale
    exponent = max(to.least, scale - to.precision + 1)
    scaled = size / Fraction(2) ** exponent
    whole = scaled.numerator // scaled.denominator
    rest = scaled - whole
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2):
        whole += 1
    rounded = Fraction(whole) * Fraction(2) ** exponent
    if rounded >= Fraction(2) ** (to.precision + to.largest):
        return math.copysign(math.inf, value)
    return math.copysign(float(rounded), value) if rounded else 0.0


def _signed(value: Fraction, negative: bool) -> float:
    """Round; a zero takes the sign given."""
    rounded = nearest(value)
    return math.copysign(rounded, -1.0 if negative else 1.0) if rounded == 0 else rounded


def negative(x: float) -> bool:
    """Whether the sign bit is set."""
    return math.copysign(1.0, x) < 0


def add(a: float, b: float) -> float:
    """a + b."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a + b
    exact = Fraction(a) + Fraction(b)
    # An exact zero is +0 unless both are −0; what is not zero never rounds to zero.
    return nearest(exact) if exact else (-0.0 if negative(a) and negative(b) else 0.0)


def sub(a: float, b: float) -> float:
    """a − b."""
    return add(a, -b)


def mul(a: float, b: float) -> float:
    """a · b."""
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b
    return _signed(Fraction(a) * Fraction(b), negative(a) != negative(b))


def div(a: float, b: float) -> float:
    """a / b."""
    sign = -1.0 if negative(a) != negative(b) else 1.0
    if math.isnan(a) or math.isnan(b) or a == b == 0 or (math.isinf(a) and math.isinf(b)):
        return math.nan
    if math.isinf(a) or b == 0:
        return math.copysign(math.inf, sign)
    if math.isinf(b):
        return math.copysign(0.0, sign)
    return _signed(Fraction(a) / Fraction(b), sign < 0)


def fmod(a: float, b: float) -> float:
    """Give the exact remainder of truncated division; a zero has the sign of a."""
    if not math.isfinite(a) or math.isnan(b) or b == 0:
        return math.nan
    if math.isinf(b):
        return a
    r = Fraction(a) - Fraction(b) * math.trunc(Fraction(a) / Fraction(b))
    assert Fraction(nearest(r)) == r
    return math.copysign(float(r), a)


def integral(round_: Callable[[Fraction], int]) -> Callable[[float], float]:
    """Make a function to whole numbers that keeps the sign, infinities and NaN."""

    def whole(x: float) -> float:
        return math.copysign(float(round_(Fraction(x))), x) if math.isfinite(x) else x

    return whole


floor: Final = integral(math.floor)
ceil: Final = integral(math.ceil)
trunc: Final = integral(math.trunc)
rint: Final = integral(round)


def ordered(a: float, b: float, first: Callable[[Any, Any], bool]) -> float:
    """Give the one that comes first; NaN if either is; −0 < +0."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    return a if first((a, not negative(a)), (b, not negative(b))) else b


def maximum(a: float, b: float) -> float:
    """Give the larger."""
    return ordered(a, b, operator.gt)


def minimum(a: float, b: float) -> float:
    """Give the smaller."""
    return ordered(a, b, operator.lt)

"""The independent judge of the elementary functions: wide C library values, mpmath when near.

``expected`` evaluates with the C library's long double (erf and erfc: double) functions, which
share nothing with the code under test, applies the rounding test with a window of 64 of their
units (all are good to a few), and asks mpmath, at 400 bits, wherever the window does not decide.
"""

import math
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray

Float32 = NDArray[np.float32]
Wide = NDArray[Any]

PRECISION = 400

MPMATH: dict[str, Callable[[Any], Any]] = {
    "exp": mpmath.exp,
    "exp2": lambda x: mpmath.mpf(2) ** x,
    "expm1": mpmath.expm1,
    "log": mpmath.log,
    "log2": lambda x: mpmath.log(x, 2),
    "log10": mpmath.log10,
    "log1p": mpmath.log1p,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tan": mpmath.tan,
    "tanh": mpmath.tanh,
    "sigmoid": lambda x: 1 / (1 + mpmath.exp(-x)),
    "erf": mpmath.erf,
    "erfc": mpmath.erfc,
    "rsqrt": lambda x: 1 / mpmath.sqrt(x),
    "sqrt": mpmath.sqrt,
    "reciprocal": lambda x: 1 / x,
}


def _scalar(function: Callable[[float], float]) -> Callable[[Wide], Wide]:
    return lambda x: np.fromiter(map(function, x.tolist()), np.float64, x.size)


WIDE: dict[str, Callable[[Wide], Wide]] = {
    **{name: getattr(np, name) for name in ("exp", "exp2", "expm1", "log", "log2", "log10")},
    **{name: getattr(np, name) for name in ("log1p", "sin", "cos", "tan", "tanh", "sqrt")},
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": _scalar(math.erf),
    "erfc": _scalar(math.erfc),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
}


def round_to_float32(value: Any) -> np.float32:
    """An mpmath number to the nearest float32, ties to even."""
    exponent = mpmath.frexp(value)[1] if value else 0
    unit = max(exponent - 24, -149)
    rounded = math.ldexp(int(mpmath.nint(mpmath.ldexp(value, -unit))), unit)
    return np.float32(rounded if abs(rounded) < 2.0**128 else math.copysign(math.inf, rounded))


def certain(name: str, x: float) -> np.float32:
    """The correctly rounded value at a finite ``x`` of the function's domain, by mpmath."""
    with mpmath.workprec(PRECISION):
        return round_to_float32(MPMATH[name](mpmath.mpf(x)))


def round_or_ask(value: Wide, window: float, ask: Callable[[int], np.float32]) -> Float32:
    """Round wide values; where value (1 ± window) round apart, ``ask`` for the element."""
    low = (value * (1 - window)).astype(np.float32)
    high = (value * (1 + window)).astype(np.float32)
    for i in np.flatnonzero((low != high) & ~np.isnan(value)):
        low[i] = ask(int(i))
    return low


def expected(name: str, x: Float32) -> Float32:
    """The correctly rounded values of the function ``name``, NaN canonical."""
    with np.errstate(all="ignore"):
        value = WIDE[name](x.astype(np.longdouble))
        window = 64 * float(np.finfo(value.dtype).eps)
        out = round_or_ask(value, window, lambda i: certain(name, float(x[i])))
    out[np.isnan(out)] = np.nan
    return out


def bits(x: Float32) -> NDArray[np.uint32]:
    """The bit patterns of a float32 array."""
    return np.ascontiguousarray(x).view(np.uint32)


def every(step: int, seed: int) -> Float32:
    """A stratified sample: one random bit pattern out of each ``step`` of the 2^32."""
    first = np.arange(0, 1 << 32, step, dtype=np.int64)
    offset = np.random.default_rng(seed).integers(0, step, first.size)
    return (first + offset).astype(np.uint32).view(np.float32)

"""Element-wise rows by scalars, from rules 4 to 15 of the contract."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import numpy as np

from . import ieee
from .values import Array

Scalar = Callable[..., Any]


def wrap(value: int, dtype: Any) -> int:
    """Bring an integer into int32 or int64 as two's complement."""
    width: int = 8 * np.dtype(dtype).itemsize
    return (value + (1 << width - 1)) % (1 << width) - (1 << width - 1)


def over(function: Scalar, dtype: Any, *arrays: Array) -> Array:
    """Apply a function of Python numbers to every element."""
    shape = arrays[0].shape
    rows = zip(*(a.ravel().tolist() for a in arrays), strict=True)
    results = [function(*row) for row in rows]
    if np.dtype(dtype).kind == "i":
        results = [wrap(r, dtype) for r in results]
    return np.array(results, dtype).reshape(shape)


def _keeps(floats: Scalar, integers: Scalar | None = None) -> Scalar:
    """Make a row whose result has the dtype of its first operand."""
    return lambda attrs, x, *more: over(
        floats if x.dtype.kind == "f" else (integers or floats), x.dtype, x, *more
    )


def _tests(function: Scalar) -> Scalar:
    return lambda attrs, *arrays: over(function, np.bool_, *arrays)


def sign(x: float) -> float:
    return 1 if x > 0 else -1 if x < 0 else 0


def relu(x: float) -> float:
    return x if x > 0 or x != x else 0


def remainder(a: float, b: float) -> float:
    r = ieee.fmod(a, b)
    moved = r == r and r != 0 and ieee.negative(r) != ieee.negative(b)
    return ieee.add(r, b) if moved else r


def floor_divide(a: float, b: float) -> float:
    r = ieee.fmod(a, b)
    if b == 0 or r != r:
        return ieee.div(a, b) if b == 0 else math.nan
    q = ieee.div(ieee.sub(a, r), b)
    if r != 0 and ieee.negative(r) != ieee.negative(b):
        q = ieee.sub(q, 1.0)
    if q == 0:
        return math.copysign(0.0, ieee.div(a, b))
    if math.isinf(q):
        return q
    down = float(math.floor(Fraction(q)))
    return ieee.add(down, 1.0) if ieee.sub(q, down) > 0.5 else down


def integer_power(a: int, b: int) -> int:
    if b >= 0:
        return pow(a, b, 1 << 64)
    return {1: 1, -1: -1 if b % 2 else 1}.get(a, 0)


def _bitwise(function: Scalar) -> Scalar:
    def row(attrs: Any, *arrays: Array) -> Array:
        mask = 1 if arrays[0].dtype == np.bool_ else -1
        return over(lambda *bits: function(*map(int, bits)) & mask, arrays[0].dtype, *arrays)

    return row


def _to_int(x: float, dtype: Any) -> int:
    info = np.iinfo(dtype)
    if math.isnan(x):
        return 0
    if math.isinf(x):
        return int(info.max if x > 0 else info.min)
    return min(max(math.trunc(x), int(info.min)), int(info.max))


def _to_float(x: float, to: ieee.Format) -> float:
    return math.copysign(ieee.nearest(Fraction(x), to), x) if math.isfinite(x) else x


def cast(attrs: Any, x: Array) -> Array:
    to = attrs.dtype.numpy
    if to == np.bool_:
        return over(lambda v: v != 0, to, x)
    if to.kind == "f":
        form = ieee.BINARY16 if to == np.float16 else ieee.BINARY32
        return over(lambda v: _to_float(v, form), to, x)
    return over(lambda v: _to_int(v, to), to, x) if x.dtype.kind == "f" else over(int, to, x)


REFERENCE: Final[dict[str, Scalar]] = {
    "neg": _keeps(operator.neg),
    "abs": _keeps(abs),
    "sign": _keeps(sign),
    "relu": _keeps(relu),
    "floor": _keeps(ieee.floor),
    "ceil": _keeps(ieee.ceil),
    "trunc": _keeps(ieee.trunc),
    "round": _keeps(ieee.rint),
    "reciprocal": _keeps(lambda x: ieee.div(1.0, x)),
    "add": _keeps(ieee.add, operator.add),
    "sub": _keeps(ieee.sub, operator.sub),
    "mul": _keeps(ieee.mul, operator.mul),
    "div": _keeps(ieee.div),
    "maximum": _keeps(ieee.maximum, max),
    "minimum": _keeps(ieee.minimum, min),
    "remainder": _keeps(remainder, operator.mod),
    "floor_divide": _keeps(floor_divide, operator.floordiv),
    "equal": _tests(operator.eq),
    "not_equal": _tests(operator.ne),
    "less": _tests(operator.lt),
    "less_equal": _tests(operator.le),
    "greater": _tests(operator.gt),
    "greater_equal": _tests(operator.ge),
    "isnan": _tests(math.isnan),
    "isinf": _tests(math.isinf),
    "bitwise_not": _bitwise(operator.invert),
    "bitwise_and": _bitwise(operator.and_),
    "bitwise_or": _bitwise(operator.or_),
    "bitwise_xor": _bitwise(operator.xor),
    "where": lambda attrs, c, a, b: over(lambda t, x, y: x if t else y, a.dtype, c, a, b),
    "cast": cast,
}

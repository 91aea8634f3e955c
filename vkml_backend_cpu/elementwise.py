"""Element-wise kernels of the oracle, but for the elementary functions: exact or one rounding."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vkml_core.errors import DivisionError

Array = npt.NDArray[Any]


def _is_float(x: Array) -> bool:
    return x.dtype.kind == "f"


def sign(x: Array) -> Array:
    """−1, 0 or 1; 0 for NaN."""
    signs: Array = np.where(x > 0, x.dtype.type(1), np.where(x < 0, x.dtype.type(-1), 0))
    return signs.astype(x.dtype)


def relu(x: Array) -> Array:
    """x if x > 0, NaN if NaN, else +0."""
    return np.where((x > 0) | (x != x), x, x.dtype.type(0))


def maximum(a: Array, b: Array) -> Array:
    """The larger; NaN if either is NaN; −0 < +0."""
    if not _is_float(a):
        return np.maximum(a, b)
    first = (a > b) | ((a == b) & ~np.signbit(a)) | (a != a)
    return np.where(first, a, b)


def minimum(a: Array, b: Array) -> Array:
    """The smaller; NaN if either is NaN; −0 < +0."""
    if not _is_float(a):
        return np.minimum(a, b)
    first = (a < b) | ((a == b) & np.signbit(a)) | (a != a)
    return np.where(first, a, b)


def _nonzero_divisor(op: str, b: Array) -> None:
    if not _is_float(b) and not np.all(b):
        raise DivisionError(f"{op}: integer division by zero")


def remainder(a: Array, b: Array) -> Array:
    """The exact remainder of a/b, moved to the sign of b by one rounded addition."""
    _nonzero_divisor("remainder", b)
    if not _is_float(a):
        return np.remainder(a, b)
    r = np.fmod(a, b)
    return np.where((r != 0) & ((b < 0) != (r < 0)), r + b, r)


def floor_divide(a: Array, b: Array) -> Array:
    """⌊a/b⌋: (a − remainder)/b rounded, then to the nearest integer; a/b where b is 0."""
    _nonzero_divisor("floor_divide", b)
    if not _is_float(a):
        return np.floor_divide(a, b)
    r = np.fmod(a, b)
    q = (a - r) / b
    q = np.where((r != 0) & ((b < 0) != (r < 0)), q - a.dtype.type(1), q)
    down = np.floor(q)
    near = np.where(q - down > 0.5, down + a.dtype.type(1), down)
    signed_zero = np.copysign(a.dtype.type(0), a / b)
    return np.where(b == 0, a / b, np.where(q == 0, signed_zero, near))


def integer_power(a: Array, b: Array) -> Array:
    """a to the power b by repeated squaring, wrapping; 1/aⁿ truncated for b = −n."""
    result, base, rest = np.ones_like(a), a.copy(), np.maximum(b, 0)
    while np.any(rest):
        result = np.where(rest & 1, result * base, result)
        base, rest = base * base, rest >> 1
    odd = (b & 1) == 1
    inverse = np.where(a == 1, 1, np.where(a == -1, np.where(odd, -1, 1), 0)).astype(a.dtype)
    if np.any((a == 0) & (b < 0)):
        raise DivisionError("pow: 0 to a negative power")
    return np.where(b < 0, inverse, result)


UNARY: Final[dict[str, Callable[[Array], Array]]] = {
    "neg": np.negative,
    "abs": np.abs,
    "sign": sign,
    "relu": relu,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "bitwise_not": np.invert,
}

BINARY: Final[dict[str, Callable[[Array, Array], Array]]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "maximum": maximum,
    "minimum": minimum,
    "floor_divide": floor_divide,
    "remainder": remainder,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}

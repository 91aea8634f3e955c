"""pow: the special cases of C99, four exact exponents, and the fixed-point algorithm."""

from collections.abc import Callable

import numpy as np

from vkml_backend_cpu.convert import canonical_nan
from vkml_backend_cpu.elementary import fixed_power
from vkml_backend_cpu.elementary.rounding import BLOCK, Bool, Float32, require_float32

# Exponents whose power is one IEEE operation, correctly rounded as such.
_SINGLE: dict[float, Callable[[Float32], Float32]] = {
    1.0: lambda x: x,
    2.0: lambda x: x * x,
    -1.0: lambda x: np.float32(1) / x,
    0.5: lambda x: np.sqrt(x),
}


def _whole(y: Float32) -> Bool:
    whole: Bool = y == np.trunc(y)
    return whole


def _odd(y: Float32) -> Bool:
    half = y * np.float32(0.5)
    return _whole(y) & ~_whole(half) & np.isfinite(y)


def _magnitude(x: Float32, y: Float32) -> Float32:
    """|x|^y where |x| is neither 0, 1 nor Inf and y is finite and not 0; 1 elsewhere."""
    size = np.abs(x)
    todo = (size > 0) & (size < np.inf) & (size != 1) & (y != 0) & (np.abs(y) < np.inf)
    out = np.ones_like(x)
    for exponent, operation in _SINGLE.items():
        here = todo & (y == exponent)
        if here.any():
            out[here] = operation(size[here])
            todo &= ~here
    if todo.any():
        out[todo] = fixed_power.power(size[todo], y[todo])
    return out


def _block(x: Float32, y: Float32) -> Float32:
    """C99 annex F.9.4.4; a later line overrules an earlier one."""
    size = np.abs(x)
    out = _magnitude(x, y)
    extreme = (size == 0) | (size == np.inf) | ((np.abs(y) == np.inf) & (size != 1))
    out[extreme] = np.where((size > 1) == (y > 0), np.float32(np.inf), np.float32(0))[extreme]
    np.negative(out, out=out, where=np.signbit(x) & _odd(y))
    out[(x < 0) & (size < np.inf) & ~_whole(y)] = np.nan
    out[np.isnan(x) | np.isnan(y)] = np.nan
    out[(x == 1) | (y == 0)] = 1
    return canonical_nan(out)


def pow(x: Float32, y: Float32) -> Float32:
    """x^y of two float32 arrays of one shape; fresh result of that shape, canonical NaN.

    C99 special cases; y = 1, 2, -1, 0.5 are x, x x, 1/x and sqrt(x), correctly rounded; any other
    value is that of the algorithm in docs/pow.md. Raises ValueError if the shapes differ.
    """
    require_float32(x, y)
    if x.shape != y.shape:
        raise ValueError(f"pow takes arrays of one shape, got {x.shape} and {y.shape}")
    base, exponent = (np.ascontiguousarray(a).reshape(-1) for a in (x, y))
    out = np.empty_like(base)
    with np.errstate(all="ignore"):
        for start in range(0, base.size, BLOCK):
            part = slice(start, start + BLOCK)
            out[part] = _block(base[part], exponent[part])
    return out.reshape(x.shape)

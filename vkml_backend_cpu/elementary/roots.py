"""Square root, reciprocal and reciprocal square root, correctly rounded.

IEEE 754 fixes the float32 square root and quotient to the bit, so NumPy's own are the definition.
"""

import math

import numpy as np

from vkml_backend_cpu.convert import canonical_nan
from vkml_backend_cpu.elementary.rounding import (
    Float32,
    Float64,
    correctly_rounded,
    require_float32,
)


def sqrt(x: Float32) -> Float32:
    """Square root of a float32 array; NaN below zero, -0 gives -0."""
    require_float32(x)
    with np.errstate(all="ignore"):
        return canonical_nan(np.asarray(np.sqrt(x)))


def reciprocal(x: Float32) -> Float32:
    """1/x of a float32 array; ±0 gives ±Inf."""
    require_float32(x)
    with np.errstate(all="ignore"):
        return canonical_nan(np.asarray(np.float32(1) / x))


@correctly_rounded(2.0**-50, low=0.0, limits={0.0: math.inf, math.inf: 0.0}, signed_zero=True)
def rsqrt(x: Float64) -> Float64:
    """1 / sqrt(x); error below 1.5u of 2^-53, two roundings."""
    return 1 / np.sqrt(x)

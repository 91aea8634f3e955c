"""Conversions between the storage types, and the canonical NaN.

Rules 3, 4 and 6 of the numerics contract: widening is exact, narrowing rounds to nearest even, a
float becomes an integer by truncation and saturation (NaN becomes 0), an integer that is too
wide wraps, anything becomes bool by ``x != 0``.
"""

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]
Float32 = NDArray[np.float32]
Float16 = NDArray[np.float16]

NAN_BITS = {np.dtype(np.float32): 0x7FC00000, np.dtype(np.float16): 0x7E00}
_BITS = {np.dtype(np.float32): np.uint32, np.dtype(np.float16): np.uint16}


def canonical_nan(x: Array) -> Array:
    """Make every NaN of a float32 or float16 array the canonical one, in place; returns ``x``.

    The caller owns ``x``: it must be writeable and share no memory with anybody's input.
    """
    nan = np.isnan(x)
    if nan.any():
        x.view(_BITS[x.dtype])[nan] = NAN_BITS[x.dtype]
    return x


# Widening a signalling NaN raises the invalid flag.
_quiet = np.errstate(invalid="ignore")


@_quiet
def to_float32(x: Float16) -> Float32:
    """Widen float16 to float32: exact, every NaN canonical."""
    wide: Float32 = x.astype(np.float32)
    return canonical_nan(wide)


def to_float16(x: Float32) -> Float16:
    """Narrow float32 to float16 on the bits, round to nearest even.

    Too large becomes Inf, subnormal results are kept, every NaN becomes 0x7e00. A float16
    significand has 13 bits fewer, and one fewer again per binade below 2^-14; the carry out of
    the rounded significand moves into the exponent field by itself.
    """
    bits = np.ascontiguousarray(x).view(np.uint32).reshape(x.shape)
    magnitude = bits & np.uint32(0x7FFFFFFF)
    exponent = (magnitude >> np.uint32(23)).astype(np.int32)
    drop = np.clip(126 - exponent, 13, 25).astype(np.uint32)
    subnormal = drop > 13
    significand = (magnitude & np.uint32(0x7FFFFF)) | np.uint32(0x800000)
    rebiased = magnitude - np.uint32(112 << 23)
    kept = np.where(subnormal, significand, rebiased)
    odd = (kept >> drop) & np.uint32(1)
    half = np.uint32(1) << (drop - np.uint32(1))
    rounded = (kept + (half - np.uint32(1)) + odd) >> drop
    # From 65520 on, the midpoint above the largest finite float16, everything is infinite.
    rounded = np.where(magnitude >= np.uint32(0x477FF000), np.uint32(0x7C00), rounded)
    rounded = np.where(magnitude > np.uint32(0x7F800000), np.uint32(0x7E00), rounded)
    sign = np.where(np.isnan(x), np.uint32(0), (bits >> np.uint32(16)) & np.uint32(0x8000))
    return (rounded | sign).astype(np.uint16).view(np.float16)


@_quiet
def float_to_int(x: Array, dtype: DTypeLike) -> Array:
    """Truncate float32 or float16 toward zero to int32 or int64; saturates, NaN becomes 0."""
    limits = np.iinfo(np.dtype(dtype))
    wide = np.asarray(x.astype(np.float64))
    # 2^31 and 2^63 are floats; the largest int64 is none, so the test is on the bound above it.
    bound = -float(limits.min)
    out: Array = np.where(np.abs(wide) < bound, wide, 0.0).astype(dtype)
    out[wide >= bound] = limits.max
    out[wide <= -bound] = limits.min
    return out


def int_to_float(x: Array) -> Float32:
    """int32, int64 or bool to float32, round to nearest even (one rounding)."""
    return x.astype(np.float32)


@_quiet
def cast(x: Array, dtype: DTypeLike) -> Array:
    """Convert among float32, float16, int32, int64 and bool; always a fresh array.

    An integer reaches float16 through float32 with one effective rounding: what float32 cannot
    hold exactly is beyond the range of float16.
    """
    target = np.dtype(dtype)
    if x.dtype == target:
        return canonical_nan(x.copy()) if target in NAN_BITS else x.copy()
    if target == np.bool_:
        return np.asarray(x != 0)
    if target == np.float16:
        return to_float16(cast(x, np.float32))
    if target == np.float32:
        return to_float32(x) if x.dtype == np.float16 else int_to_float(x)
    if x.dtype in NAN_BITS:
        return float_to_int(x, target)
    return x.astype(target)

"""Values for the tests, their way to vkml and to PyTorch, and the comparison of results."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

import vkml

TORCH = {
    vkml.bool_: torch.bool,
    vkml.int32: torch.int32,
    vkml.int64: torch.int64,
    vkml.float16: torch.float16,
    vkml.float32: torch.float32,
}
DTYPES = tuple(TORCH)

SPECIAL = np.array(
    [
        0.0,
        -0.0,
        1.0,
        -1.0,
        0.5,
        1.5,
        2.5,
        -2.5,
        np.inf,
        -np.inf,
        np.nan,
        1e-45,
        -1e-45,
        1e-39,
        1e-38,
        3.4e38,
        -3.4e38,
        1e-8,
        88.7,
        89.0,
        -104.0,
        16777216.0,
        100.5,
        -7.25,
    ],
    dtype=np.float32,
)

OTHER = 0.078125
"""Moves `distinct` off its usual numbers, so that no two of both are tied."""

_seeds = itertools.count()


def reals(*shape: int, low: float = -2.0, high: float = 2.0, dtype: Any = np.float32) -> np.ndarray:
    """Give uniform numbers; every call gives others, every run the same."""
    return np.random.default_rng(next(_seeds)).uniform(low, high, shape).astype(dtype)


def distinct(*shape: int, dtype: Any = np.float32, by: float = 0.0625) -> np.ndarray:
    """Give numbers without ties, in random order: steps of 1/8 around zero, moved by `by`."""
    n = int(np.prod(shape))
    order = np.random.default_rng(next(_seeds)).permutation(n)
    return np.asarray((order - n // 2) / 8 + by).reshape(shape).astype(dtype)


def ints(*shape: int, low: int = -9, high: int = 10, dtype: Any = np.int64) -> np.ndarray:
    """Give integers from low to high − 1."""
    return np.random.default_rng(next(_seeds)).integers(low, high, shape).astype(dtype)


def bools(*shape: int) -> np.ndarray:
    """Give True and False."""
    return ints(*shape, low=0, high=2).astype(np.bool_)


def to_vkml(value: Any) -> Any:
    """Make tensors of arrays, also inside lists and tuples."""
    if isinstance(value, np.ndarray):
        return vkml.tensor(value)
    if isinstance(value, list | tuple):
        return type(value)(map(to_vkml, value))
    return value


def to_torch(value: Any, real: torch.dtype | None = None) -> Any:
    """Make PyTorch tensors of arrays, floating-point ones in the dtype `real` if it is given."""
    if isinstance(value, np.ndarray):
        made = torch.from_numpy(value.copy())
        return made.to(real) if real is not None and made.is_floating_point() else made
    if isinstance(value, list | tuple):
        return type(value)(to_torch(v, real) for v in value)
    return TORCH.get(value, value) if isinstance(value, vkml.DType) else value


@dataclass(frozen=True)
class Tolerance:
    """|got − want| ≤ rtol · |want| + scale · max |want|, for float32 and for float16."""

    rtol: float
    scale: float
    half: float = 1e-3
    """Both of them for float16, whose ulp is up to 9.8e-4 of a value."""


EXACT = Tolerance(0.0, 0.0, 0.0)
ROUNDED = Tolerance(2e-6, 0.0)
COMPOSED = Tolerance(2e-6, 1e-6, 2e-3)
GRADIENT = Tolerance(1e-5, 2e-6, 5e-3)
SUBNORMAL = 2e-38
"""PyTorch's vectorised functions may flush what is smaller."""


def assert_same(
    got: Any, want: Any, tolerance: Tolerance = EXACT, *, signs: bool = True, dtype: bool = True
) -> None:
    """Compare vkml's result with PyTorch's: structure, shape, dtype, values, signs of zeros."""
    if isinstance(want, tuple | list):
        assert len(got) == len(want)
        for g, w in zip(got, want, strict=True):
            assert_same(g, w, tolerance, signs=signs, dtype=dtype)
        return
    assert got.shape == tuple(want.shape)
    if dtype:
        assert TORCH[got.dtype] == want.dtype
    a, b = got.numpy(), want.detach().numpy()
    assert a.shape == b.shape and a.dtype == got.dtype.numpy
    if a.dtype.kind != "f":
        np.testing.assert_array_equal(a, b)
    else:
        assert_close(a, b, tolerance, signs=signs)


def assert_close(a: np.ndarray, b: np.ndarray, tolerance: Tolerance, *, signs: bool) -> None:
    """Compare floating-point arrays."""
    if tolerance is EXACT:
        np.testing.assert_array_equal(a, b)
        if signs:
            zero = b == 0
            np.testing.assert_array_equal(np.signbit(a[zero]), np.signbit(b[zero]))
        return
    half = a.dtype == np.float16
    wide, want = a.astype(np.float64), b.astype(np.float64)
    finite = np.abs(want[np.isfinite(want)])
    largest = finite.max() if finite.size else 0.0
    rtol = tolerance.half if half else tolerance.rtol
    atol = (tolerance.half if half and tolerance.scale else tolerance.scale) * largest
    tiny = 6e-8 if half else SUBNORMAL
    np.testing.assert_allclose(wide, want, rtol=rtol, atol=atol + tiny, equal_nan=True)

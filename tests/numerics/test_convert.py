"""Conversions: exhaustive over float16, stratified over float32, edges of the integers."""

import itertools

import numpy as np
import pytest
from judge import bits, every

from vkml_backend_cpu.convert import (
    canonical_nan,
    cast,
    float_to_int,
    int_to_float,
    to_float16,
    to_float32,
)

HALVES = np.arange(1 << 16, dtype=np.uint32).astype(np.uint16).view(np.float16)
DTYPES = ["float32", "float16", "int32", "int64", "bool"]


def half_bits(x: np.ndarray) -> np.ndarray:
    return x.view(np.uint16)


def narrowed_by_numpy(x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        out = x.astype(np.float16)
    out[np.isnan(out)] = np.nan
    return out


def test_every_float16_widens_exactly() -> None:
    wide = to_float32(HALVES)
    number = ~np.isnan(HALVES)
    np.testing.assert_array_equal(wide[number].astype(np.float64), HALVES[number])
    np.testing.assert_array_equal(np.signbit(wide[number]), np.signbit(HALVES[number]))
    assert (bits(wide)[~number] == 0x7FC00000).all()


def test_every_float16_survives_the_round_trip() -> None:
    want = np.where(np.isnan(HALVES), np.uint16(0x7E00), half_bits(HALVES))
    np.testing.assert_array_equal(half_bits(to_float16(to_float32(HALVES))), want)


def test_narrowing_rounds_to_nearest_even_around_every_midpoint() -> None:
    finite = np.sort(HALVES[np.isfinite(HALVES)].astype(np.float32))
    middle = (finite[1:] + finite[:-1]) / 2
    near = [np.nextafter(middle, np.float32(s)) for s in (-np.inf, np.inf)]
    x = np.concatenate([finite, middle, *near, np.float32([65519.996, 65520, 65504, 1e6])])
    x = np.concatenate([x, -x])
    np.testing.assert_array_equal(half_bits(to_float16(x)), half_bits(narrowed_by_numpy(x)))


def test_narrowing_on_a_stratified_sample() -> None:
    x = every(1 << 11, seed=1)
    np.testing.assert_array_equal(half_bits(to_float16(x)), half_bits(narrowed_by_numpy(x)))


NARROWINGS = [(65519.996, 0x7BFF), (65520.0, 0x7C00), (np.inf, 0x7C00), (-np.inf, 0xFC00)]
NARROWINGS += [(2.0**-25, 0), (2.0**-25 * 1.0000001, 1), (2.0**-24, 1), (3 * 2.0**-25, 2)]
NARROWINGS += [(np.nan, 0x7E00), (-np.nan, 0x7E00), (2049.0, 0x6800), (2051.0, 0x6802)]
NARROWINGS += [(0.0, 0), (-0.0, 0x8000), (1e-45, 0), (-1e-45, 0x8000)]


@pytest.mark.parametrize(("value", "pattern"), NARROWINGS)
def test_known_narrowings(value: float, pattern: int) -> None:
    assert half_bits(to_float16(np.array([value], dtype=np.float32)))[0] == pattern


def python_to_int(value: float, limits: np.iinfo) -> int:
    if np.isnan(value):
        return 0
    if np.isinf(value):
        return int(limits.max if value > 0 else limits.min)
    return max(limits.min, min(limits.max, int(value)))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("source", ["float32", "float16"])
def test_float_to_int_truncates_and_saturates(dtype: str, source: str) -> None:
    edges = [0.0, -0.0, 0.99, -0.99, 1.5, -1.5, np.nan, np.inf, -np.inf, 3e38, -3e38]
    edges += [s * v for s in (1, -1) for e in (31, 63) for v in (2.0**e, 2.0**e * (1 - 2.0**-24))]
    with np.errstate(over="ignore"):
        x = np.concatenate([np.array(edges, np.float32), every(1 << 20, seed=2)]).astype(source)
    got = float_to_int(x, dtype)
    assert got.dtype == dtype
    assert got.tolist() == [python_to_int(float(v), np.iinfo(dtype)) for v in x]


def test_int_to_float_rounds_to_nearest_even() -> None:
    edges = [0, 1, -1, 2**24, 2**24 + 1, 2**24 + 3, -(2**24) - 1, 2**31 - 1, 2**63 - 1, -(2**63)]
    edges += [2**53 + 2**29, 2**53 + 2**29 + 1, 2**53 + 3 * 2**29, 2**62 + 2**38 + 1]
    rng = np.random.default_rng(3)
    random = rng.integers(-(2**63), 2**63 - 1, 2000) >> rng.integers(0, 63, 2000)
    for value in [*edges, *random.tolist()]:
        unit = max(abs(value).bit_length() - 24, 0)
        quotient, rest = divmod(abs(value), 1 << unit)
        up = 2 * rest > (1 << unit) or (2 * rest == (1 << unit) and quotient % 2 == 1)
        want = float((quotient + up) << unit) * (-1 if value < 0 else 1)
        assert float(int_to_float(np.array([value], dtype=np.int64))[0]) == want
    assert int_to_float(np.array([True, False])).tolist() == [1.0, 0.0]


def test_canonical_nan_works_in_place() -> None:
    x = np.array([1.0, np.nan, -np.inf, -0.0], dtype=np.float32)
    x.view(np.uint32)[1] = 0xFFC12345
    assert canonical_nan(x) is x
    assert bits(x).tolist() == [0x3F800000, 0x7FC00000, 0xFF800000, 0x80000000]
    half = HALVES.copy()
    canonical_nan(half)
    want = np.where(np.isnan(HALVES), np.uint16(0x7E00), half_bits(HALVES))
    np.testing.assert_array_equal(half_bits(half), want)


@pytest.mark.parametrize(("source", "target"), list(itertools.product(DTYPES, DTYPES)))
def test_cast_is_fresh_keeps_the_shape_and_small_integers(source: str, target: str) -> None:
    x = np.array([[0, 1, 2], [100, 1, 0]]).astype(source)
    got = cast(x, target)
    assert got.dtype == target and got.shape == x.shape
    assert not np.shares_memory(got, x)
    want = x.astype(np.int64) != 0 if target == "bool" else x.astype(np.int64)
    np.testing.assert_array_equal(got.astype(np.int64), want)
    np.testing.assert_array_equal(cast(x.T, target), got.T)
    assert cast(x[0, 1].reshape(()), target) == 1
    assert cast(x[:0], target).shape == (0, 3)


def test_cast_wraps_wide_integers() -> None:
    x = np.array([2**31, -(2**31) - 1, 2**32 + 5], dtype=np.int64)
    assert cast(x, "int32").tolist() == [-(2**31), 2**31 - 1, 5]


def test_cast_of_integers_to_float16_overflows_to_infinity() -> None:
    x = np.array([65504, 65519, 65520, -65520, 2**40, 2049, 2051], dtype=np.int64)
    assert cast(x, "float16").tolist() == [65504, 65504, np.inf, -np.inf, np.inf, 2048, 2052]


@pytest.mark.parametrize("source", ["float32", "float16"])
def test_anything_but_zero_is_true(source: str) -> None:
    x = np.array([0.0, -0.0, np.nan, np.inf, -1.0, 6e-8], dtype=source)
    assert cast(x, "bool").tolist() == [False, False, True, True, True, True]


@pytest.mark.parametrize("target", DTYPES)
def test_signalling_nan_is_a_nan_like_any_other(target: str) -> None:
    single = np.array([0x7F800001, 0xFF812345] * 9, dtype=np.uint32).view(np.float32)
    half = np.array([0x7C01, 0xFD12] * 9, dtype=np.uint16).view(np.float16)
    for signalling in (single, half):
        quiet = np.full_like(signalling, np.nan)
        assert cast(signalling, target).tobytes() == cast(quiet, target).tobytes()


def test_cast_between_floats_makes_nan_canonical() -> None:
    x = np.array([0xFF812345, 0x7FC00000], dtype=np.uint32).view(np.float32)
    assert bits(cast(x, "float32")).tolist() == [0x7FC00000] * 2
    assert half_bits(cast(x, "float16")).tolist() == [0x7E00] * 2
    assert bits(x).tolist() == [0xFF812345, 0x7FC00000]

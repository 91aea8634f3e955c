"""References of the forms that compute with integers, compare, convert or only pass words on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from vkml_backend_vulkan.selftest.floats import NAN
from vkml_backend_vulkan.selftest.probe import Words

Reference = Callable[[Words], list[Any]]
"""Gives up to four columns of integers for rows of four words."""
_LOW: Final = np.uint64(0xFFFFFFFF)
_HALF: Final = np.uint64(32)


def _wide(x: Words, column: int) -> Any:
    """Join two words, the lower one first."""
    return x[:, column].astype(np.uint64) | x[:, column + 1].astype(np.uint64) << _HALF


def _halves(*numbers: Any) -> list[Any]:
    return [half for n in numbers for half in (n & _LOW, n >> _HALF)]


def _signed(words: Any) -> Any:
    return words.view(np.int64 if words.dtype.itemsize == 8 else np.int32)


def _bit_length(numbers: Any) -> Any:
    return np.array([int(n).bit_length() for n in numbers], np.int64)


def _product(x: Words) -> list[Any]:
    return _halves(x[:, 0].astype(np.uint64) * x[:, 1].astype(np.uint64))


def _shift(x: Words) -> list[Any]:
    a, by = x[:, 0], x[:, 1] & 31
    return [a << by, a >> by, _signed(np.ascontiguousarray(a)) >> _signed(by)]


def _u64_shift(x: Words) -> list[Any]:
    a, by = _wide(x, 0), (x[:, 2] & 63).astype(np.uint64)
    return _halves(a << by, a >> by)


def _i64_shift(x: Words) -> list[Any]:
    return _halves((_signed(_wide(x, 0)) >> (x[:, 2] & 63).astype(np.int64)).view(np.uint64))


def _leading_bit(x: Words) -> list[Any]:
    return [_bit_length(x[:, 0]) - 1, 64 - _bit_length(_wide(x, 0))]


def _divide(x: Words) -> list[Any]:
    return list(np.divmod(x[:, 0], np.maximum(x[:, 1], 1)))


def _u64_divide(x: Words) -> list[Any]:
    return _halves(*np.divmod(_wide(x, 0), _wide(x, 2) | np.uint64(1)))


def _signs(x: Words) -> list[Any]:
    a, b = (_signed(np.ascontiguousarray(x[:, k])) for k in (0, 1))
    return [a < b, x[:, 0] < x[:, 1], np.sign(a), np.clip(a, -126, 127)]


INTEGERS: Final[dict[str, Reference]] = {
    "product": _product,
    "u64_add": lambda x: _halves(_wide(x, 0) + _wide(x, 2)),
    "u64_sub": lambda x: _halves(_wide(x, 0) - _wide(x, 2)),
    "i64_mul": lambda x: _halves(_wide(x, 0) * _wide(x, 2)),
    "shift": _shift,
    "u64_shift": _u64_shift,
    "i64_shift": _i64_shift,
    "leading_bit": _leading_bit,
    "divide": _divide,
    "u64_divide": _u64_divide,
    "signs": _signs,
}


def _rank(x: Words, column: int) -> Any:
    """Give integers in the order of the numbers: -0 before +0, NaN last."""
    size = (x[:, column] & 0x7FFFFFFF).astype(np.int64)
    rank = np.where(x[:, column] >> 31 == 1, -size - 1, size)
    return np.where(size > 0x7F800000, 1 << 32, rank)


def _values(x: Words) -> tuple[Any, Any]:
    """Give the first two columns as float64, which holds them exactly, subnormals too."""
    a, b = (np.ascontiguousarray(x[:, k]).view(np.float32).astype(np.float64) for k in (0, 1))
    return a, b


def _compare(x: Words) -> list[Any]:
    a, b = _values(x)
    first = (a < b) | (np.isnan(b) & ~np.isnan(a))  # NaN is the largest
    return [a == b, a < b, a <= b, first]


def _extremes(x: Words) -> list[Any]:
    a, rank_a, rank_b = x[:, 0], _rank(x, 0), _rank(x, 1)
    nan = np.isnan(_values(x)).any(axis=0)
    most, least = (np.where(c, a, x[:, 1]) for c in (rank_a >= rank_b, rank_a <= rank_b))
    number, is_nan = _values(x)[0], _rank(x, 0) > 1 << 31
    relu = np.where(is_nan, NAN, np.where(number > 0, a, 0))
    sign = np.where(is_nan | (number == 0), 0, a & 0x80000000 | 0x3F800000)
    return [np.where(nan, NAN, most), np.where(nan, NAN, least), relu, sign]


COMPARES: Final[dict[str, Reference]] = {"compare": _compare, "extremes": _extremes}


def _canonical(bits: Any) -> Any:
    return np.where(bits & 0x7FFFFFFF > 0x7F800000, NAN, bits)


def _from_uint(x: Words) -> list[Any]:
    return [x[:, 0].astype(np.float32).view(np.uint32)]


def _to_int(x: Words) -> list[Any]:
    return [np.ascontiguousarray(x[:, 0]).view(np.float32).astype(np.int64)]


CONVERSIONS: Final[dict[str, Reference]] = {
    "from_uint": _from_uint,
    "to_uint": _to_int,
    "to_int": _to_int,
    "equal": lambda x: [np.equal(*_values(x))],
    "through_memory": lambda x: [_canonical(x[:, k]) for k in range(4)],
}


def wanted(reference: Reference, x: Words) -> Words:
    """Give the rows of words that a form gives."""
    result = np.zeros_like(x)
    for k, column in enumerate(reference(x)):
        result[:, k] = column.astype(np.int64).astype(np.uint32)  # wraps
    return result

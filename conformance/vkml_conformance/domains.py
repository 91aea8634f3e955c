"""Value domains: for each category of dtype the sets of numbers that a device may get wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from vkml_conformance.values import FORMATS, Array, bits
from vkml_core.dtypes import Category, DType


@dataclass(frozen=True)
class Range:
    """Usual magnitudes: 2^low to 2^high in float32, half of that in float16."""

    low: int = -12
    high: int = 12
    positive: bool = False
    """Whether seven of eight are positive."""


USUAL: Final = Range()
_EXPONENTIAL: Final = Range(-12, 6)
_LOGARITHM: Final = Range(-12, 12, positive=True)
_GAUSS: Final = Range(-6, 3)
RANGES: Final[dict[str, tuple[Range, ...]]] = {
    **dict.fromkeys(("exp", "exp2", "expm1", "sigmoid", "tanh"), (_EXPONENTIAL,)),
    **dict.fromkeys(("log", "log2", "log10", "log1p", "sqrt", "rsqrt"), (_LOGARITHM,)),
    **dict.fromkeys(("erf", "erfc"), (_GAUSS,)),
    "pow": (Range(-3, 3, positive=True), Range(-3, 4)),
    "prod": (Range(-1, 1),),
}
"""Ranges by operand in which an operation, its rounding and its gradient are not yet trivial, and
in which no step of them is subnormal; the last one serves all further operands."""


def range_of(op: str, operand: int) -> Range:
    """Give the range of an operand of a row."""
    found = RANGES.get(op, (USUAL,))
    return found[min(operand, len(found) - 1)]


Make = Callable[[str, tuple[int, ...], DType, Range], Array]


@dataclass(frozen=True)
class Domain:
    """A set of numbers; `normal` tells that neither they nor what is computed is subnormal."""

    name: str
    make: Make
    normal: bool


def usual(name: str, shape: tuple[int, ...], dtype: DType, within: Range) -> Array:
    """Give numbers in a range, of both signs."""
    form = FORMATS[dtype.numpy]
    low, high = within.low, within.high
    if dtype.itemsize == 2:
        low, high = low // 2, -(-high // 2)
    word = bits(name, shape, np.uint64)
    sign = (word >> np.uint64(60)) % np.uint64(8) == 0 if within.positive else word >> np.uint64(63)
    exponent = (word >> np.uint64(32)) % np.uint64(max(high - low, 1)) + np.uint64(form.bias + low)
    return form.assemble(sign, exponent, word).view(dtype.numpy)


def _wide(name: str, shape: tuple[int, ...], dtype: DType, within: Range) -> Array:
    """Give finite normal numbers of every exponent."""
    form = FORMATS[dtype.numpy]
    word = bits(name, shape, np.uint64)
    exponent = (word >> np.uint64(32)) % np.uint64(2 * form.bias) + np.uint64(1)
    return form.assemble(word >> np.uint64(63), exponent, word).view(dtype.numpy)


def _among(numbers: Callable[[DType, Array], Array]) -> Make:
    """Put numbers made from random words in the places of a third of usual ones."""

    def make(name: str, shape: tuple[int, ...], dtype: DType, within: Range) -> Array:
        word = bits(f"{name} among", shape, np.uint64)
        here = (word >> np.uint64(40)) % np.uint64(3) == 0
        return np.where(here, numbers(dtype, word), usual(name, shape, dtype, within))

    return make


def _subnormal(dtype: DType, word: Array) -> Array:
    form = FORMATS[dtype.numpy]
    short = word >> (word >> np.uint64(48)) % np.uint64(form.fraction)
    return form.assemble(word >> np.uint64(63), word * np.uint64(0), short).view(dtype.numpy)


def _signed(pattern: Callable[[int, int], int]) -> Callable[[DType, Array], Array]:
    """Give one magnitude with either sign; `pattern` makes it of (fraction bits, bias)."""

    def make(dtype: DType, word: Array) -> Array:
        form = FORMATS[dtype.numpy]
        found = np.full(word.shape, pattern(form.fraction, form.bias), np.uint64)
        sign, exponent = word >> np.uint64(63), found >> np.uint64(form.fraction)
        return form.assemble(sign, exponent, found).view(dtype.numpy)

    return make


def _special(name: str, shape: tuple[int, ...], dtype: DType, within: Range) -> Array:
    special = FORMATS[dtype.numpy].special
    found: Array = special[bits(name, shape, np.uint32) % special.size].view(dtype.numpy)
    return found


def _small(name: str, shape: tuple[int, ...], dtype: DType, within: Range) -> Array:
    found: Array = (bits(name, shape, np.uint32) % 19).astype(dtype.numpy) - dtype.numpy.type(9)
    return found


def _any(name: str, shape: tuple[int, ...], dtype: DType, within: Range) -> Array:
    return bits(name, shape, dtype.numpy)


def _extreme(name: str, shape: tuple[int, ...], dtype: DType, within: Range) -> Array:
    info = np.iinfo(dtype.numpy)
    few = np.array([info.min, info.min + 1, info.max, info.max - 1, -1, 0, 1, 2], dtype.numpy)
    found: Array = few[bits(name, shape, np.uint32) % few.size]
    return found


def _bools(name: str, shape: tuple[int, ...], dtype: DType, within: Range) -> Array:
    found: Array = np.equal(bits(name, shape, np.uint8) % 2, 1)
    return found


def _line_starts(name: str, shape: tuple[int, ...], dtype: DType, within: Range) -> Array:
    """Put NaN and infinities where few lines begin, along the last axis and the one before."""
    found = usual(name, shape, dtype, within)
    strange = np.array([np.nan, np.inf, -np.inf], dtype.numpy)
    for axis in (-1, -2):
        starts = np.take(found, 0, axis).reshape(-1)
        few = np.arange(FIRST_LINE, starts.size, LINES)
        starts[few] = strange[few // LINES % strange.size]
        np.moveaxis(found, axis, 0)[0] = starts.reshape(np.take(found, 0, axis).shape)
    return found


FIRST_LINE: Final = 5
LINES: Final = 997
"""The first line that begins with no number, and how many there are from one to the next."""
_INFINITE: Final = _signed(lambda fraction, bias: (2 * bias + 1) << fraction)
_NAN: Final = _signed(lambda fraction, bias: (4 * bias + 3) << (fraction - 1))
DOMAINS: Final[dict[Category, tuple[Domain, ...]]] = {
    "float": (
        Domain("usual", usual, True),
        Domain("wide", _wide, False),
        Domain("subnormal", _among(_subnormal), False),
        Domain("zeros", _among(_signed(lambda fraction, bias: 0)), True),
        Domain("infinite", _among(_INFINITE), True),
        Domain("nan", _among(_NAN), True),
        Domain("special", _special, False),
    ),
    "int": (
        Domain("small", _small, True),
        Domain("any", _any, True),
        Domain("extreme", _extreme, True),
    ),
    "bool": (Domain("both", _bools, True),),
}
"""The first of a category is the usual one, the last the strangest."""
LINE_STARTS: Final = Domain("line starts", _line_starts, True)
"""Floats of which few are no numbers, where lines begin: what is read beyond the end of the line
before, and multiplied by zero, is seen in results that should be numbers. For operands of two axes
and more.
"""

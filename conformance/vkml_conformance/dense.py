"""Dense operands of element-wise rows: bit patterns, usual numbers, edges, hard cases."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from vkml_conformance.domains import range_of
from vkml_conformance.hard import HARD, among, field, mixed, signed
from vkml_conformance.values import FORMATS, Array
from vkml_core.dtypes import DType
from vkml_core.ops.spec import OpSpec

Operands = tuple[Array, ...]
ULPS: Final = 16
"""Neighbours of each power of two that are taken, on either side."""
MULTIPLES: Final = 1 << 12
CONSTANTS: Final = (math.pi / 4, math.log(2) / 2, math.log2(10), 0.5)
"""Numbers whose multiples are where reductions of arguments are hardest, or results exact."""


@dataclass(frozen=True)
class Ask:
    """What operands are asked for: a row, a dtype, how many, and the name of the random numbers."""

    spec: OpSpec
    dtype: DType
    count: int
    name: str

    @property
    def arity(self) -> int:
        """How many operands the row takes."""
        return self.spec.arity or 1

    def words(self, what: object) -> Array:
        """Give random words."""
        return mixed(f"{self.name} {what}", self.count)


def every(ask: Ask) -> Operands:
    """Give all numbers of a 16-bit dtype."""
    return (np.arange(1 << 16, dtype=np.uint16).view(ask.dtype.numpy),)


def patterns(ask: Ask) -> Operands:
    """Give bit patterns of every sign and exponent: one of each stratum for one operand."""
    word = FORMATS[ask.dtype.numpy].word
    bits = 8 * ask.dtype.itemsize
    if ask.arity > 1:
        found = [(ask.words(i) >> np.uint64(64 - bits)).astype(word) for i in range(ask.arity)]
    else:
        stratum = np.uint64((1 << bits) // ask.count)
        start = np.arange(ask.count, dtype=np.uint64) * stratum
        found = [(start + ask.words(0) % stratum).astype(word)]
    return tuple(x.view(ask.dtype.numpy) for x in found)


def usual(ask: Ask) -> Operands:
    """Give numbers of the range in which a row is not yet trivial."""
    form, out = FORMATS[ask.dtype.numpy], []
    for i in range(ask.arity):
        within, word = range_of(ask.spec.name, i), ask.words(i)
        low, high = within.low, within.high
        if ask.dtype.itemsize == 2:
            low, high = low // 2, -(-high // 2)
        minus = field(word, 60, 3) == 0 if within.positive else field(word, 63, 1)
        exponent = among(word, 40, low, high) + form.bias
        out.append(form.assemble(np.asarray(minus), exponent, word).view(ask.dtype.numpy))
    return tuple(out)


def near(ask: Ask) -> Operands:
    """Give pairs of close magnitude, so that sums cancel and quotients are close to one."""
    first = usual(ask)[0]
    word = first.view(FORMATS[ask.dtype.numpy].word)
    step = (ask.words("step") >> np.uint64(20)).astype(word.dtype)
    shift = (ask.words("shift") % np.uint64(FORMATS[ask.dtype.numpy].fraction + 2)).astype(
        word.dtype
    )
    most = word.dtype.type((1 << FORMATS[ask.dtype.numpy].fraction) - 1)
    other = (word + ((step & most) >> shift)).view(ask.dtype.numpy)
    sign = np.where(field(ask.words("sign"), 0, 1) == 1, -1, 1).astype(ask.dtype.numpy)
    return first, other * sign


def _around_powers(dtype: DType, ulps: int) -> Array:
    """Give zeros, subnormals, NaNs and all numbers next to powers of two, both signs."""
    form = FORMATS[dtype.numpy]
    powers = np.arange(2 * form.bias + 2, dtype=np.int64) << form.fraction
    powers = np.concatenate([powers, 1 << np.arange(form.fraction, dtype=np.int64)])
    close = (powers[:, None] + np.arange(-ulps, ulps + 1)).reshape(-1)
    kept = np.unique(np.clip(close, 0, int(powers.max()) + ulps))
    both = np.concatenate([kept, kept | 1 << (8 * dtype.itemsize - 1)]).astype(form.word)
    return np.concatenate([form.special, both]).view(dtype.numpy)


def edges(ask: Ask) -> Operands:
    """Give the neighbours of powers of two and the special numbers; for pairs, each with each."""
    if ask.arity == 1:
        return (_around_powers(ask.dtype, ULPS),)
    all_of = _around_powers(ask.dtype, 1)
    step = max(1, all_of.size * all_of.size // ask.count)
    chosen = np.arange(0, all_of.size**2, step)
    return all_of[chosen // all_of.size], all_of[chosen % all_of.size]


def multiples(ask: Ask) -> Operands:
    """Give multiples of constants and their neighbours, both signs."""
    k = np.arange(1, MULTIPLES + 1, dtype=np.float64)
    x = np.concatenate([(k * c).astype(np.float32) for c in CONSTANTS])
    word = x.view(np.uint32)
    close = np.concatenate([word - 1, word, word + 1])
    return (np.concatenate([close, close | np.uint32(1 << 31)]).view(np.float32),)


def middles(ask: Ask) -> Operands:
    """Give the middles of neighbouring float16 and the float32 next to them, both signs."""
    half = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float64)
    top = np.append(half[1:], 65536.0)
    word = ((half + top) / 2).astype(np.float32).view(np.uint32)
    close = np.concatenate([word - 1, word, word + 1])
    return (np.concatenate([close, close | np.uint32(1 << 31)]).view(np.float32),)


def integers(ask: Ask) -> Operands:
    """Give integers of every length, half of them on or next to the middle of two floats."""
    bits = 8 * ask.dtype.itemsize
    word = ask.words("integers")
    length = among(word, 0, 1, bits - 1).astype(np.uint64)
    plain = (word >> np.uint64(1)) >> (np.uint64(63) - length)
    cut = np.where(length > 24, length - 24, 0).astype(np.uint64)
    tie = plain >> cut << cut | (np.uint64(1) << cut >> np.uint64(1))
    near = tie + among(ask.words("near"), 0, -1, 1).astype(np.uint64)
    found = np.where(field(ask.words("which"), 0, 1) == 1, near, plain).astype(np.int64)
    return (signed(found, word, 16).astype(ask.dtype.numpy),)


def hard(name: str) -> Callable[[Ask], Operands]:
    """Give the operands of that name for a row (see `vkml_conformance.hard`)."""
    return lambda ask: HARD[ask.spec.name][name](ask.words(name))

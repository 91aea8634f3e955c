"""Numbers that are a function of a name: the same on every machine and with every NumPy."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

WORDS: Final[dict[int, type[np.unsignedinteger[Any]]]] = {
    1: np.uint8,
    2: np.uint16,
    4: np.uint32,
    8: np.uint64,
}
"""The unsigned integer that shows the bits of an element of so many bytes."""


def bits(name: str, shape: tuple[int, ...], dtype: Any) -> Array:
    """Give uniform bits as elements of an integer dtype."""
    item = np.dtype(dtype).itemsize
    count = int(np.prod(shape, dtype=np.int64))
    data = hashlib.shake_256(name.encode()).digest(count * item)
    found: Array = np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).astype(dtype)
    return found.reshape(shape)


def below(name: str, shape: tuple[int, ...], limit: int) -> Array:
    """Give int64 from 0 to limit − 1."""
    return (bits(name, shape, np.uint32) % max(limit, 1)).astype(np.int64)


def words(x: Array) -> Array:
    """View the bits of an array."""
    # ascontiguousarray would give an array of rank 0 an axis.
    return np.asarray(x, order="C").view(WORDS[x.dtype.itemsize])


@dataclass(frozen=True)
class Format:
    """How a floating-point dtype lays out its bits: sign, biased exponent, fraction."""

    fraction: int
    bias: int
    word: type[np.unsignedinteger[Any]]

    def assemble(self, sign: Array, exponent: Array, fraction: Array) -> Array:
        """Put the three fields together, each taken modulo its width; gives bits."""
        width = 8 * np.dtype(self.word).itemsize
        out = (sign.astype(np.uint64) & 1) << np.uint64(width - 1)
        out |= exponent.astype(np.uint64) << np.uint64(self.fraction)
        out |= fraction.astype(np.uint64) & np.uint64((1 << self.fraction) - 1)
        return out.astype(self.word)

    @property
    def special(self) -> Array:
        """Bits of zeros, subnormals, halves, ties, the largest, infinity and NaNs, both signs."""
        one, unit = self.bias << self.fraction, 1 << self.fraction
        top = (2 * self.bias + 1) << self.fraction
        found = [0, 1, 3, unit - 1, unit, unit + 1, one, one + 1, one - 1, one - unit]
        found += [one + unit // 2, one + unit + unit // 4, top - 1, top - unit, top]
        found += [top + 1, top + unit // 2, (self.bias + self.fraction) * unit + 1]
        sign = (2 * self.bias + 2) << self.fraction
        return np.array([*found, *(sign | x for x in found)], self.word)


FORMATS: Final = {
    np.dtype(np.float32): Format(23, 127, np.uint32),
    np.dtype(np.float16): Format(10, 15, np.uint16),
}

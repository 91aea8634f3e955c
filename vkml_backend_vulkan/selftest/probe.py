"""A probe: operands, the bits that the contract wants for them, and the level that needs them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from vkml_core.backend import Array, Level
from vkml_core.ops.spec import REGISTRY, Kind

Words = np.ndarray[Any, np.dtype[np.uint32]]
_EACH: Final = Kind.ELEMENTWISE


@dataclass(frozen=True, slots=True)
class Form:
    """A form of a module of the self-test. Where its words are specialisation constants they are
    the table `folded`, and the probe is about those of its rows that `rows` lists.
    """

    module: str
    index: int
    folded: Words | None = None
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Kernel:
    """An operation of the registry, run as a plan of one step by the shipped kernels."""

    op: str
    attrs: Any = None


@dataclass(frozen=True, slots=True)
class Probe:
    """What is run on what, and the bits wanted. Element-wise kernels and forms have one case for
    each element (or row of four words); others are one case for each element of the result.
    """

    name: str
    level: Level
    """The level that a device loses by other bits: below exact-normal there is none."""
    target: Form | Kernel
    operands: tuple[Array, ...] = field(repr=False)
    wanted: Array = field(repr=False)

    def failure(self, got: Array) -> str:
        """Tell of the first case that differs, and how many do; "" if none does."""
        wanted, found = _words(self.wanted), _words(got)
        different = np.flatnonzero((wanted != found).any(axis=1))
        if not different.size:
            return ""
        i = int(different[0])
        return (
            f"probe {self.name} of {self._case(i)} gave {_hex(found[i])}, "
            f"wanted {_hex(wanted[i])} ({different.size:,} of {len(wanted):,} cases differ)"
        )

    def _case(self, i: int) -> str:
        """Show the operands of case i, as bits; of a product or sum only their shapes."""
        if isinstance(self.target, Kernel) and REGISTRY[self.target.op].kind is not _EACH:
            shapes = " and ".join(str(o.shape) for o in self.operands)
            return f"arrays {shapes}, result {i},"
        return ", ".join(_hex(_words(o)[i]) for o in self.operands)


def _words(array: Array) -> Array:
    """Give an array's elements, or rows of four words, as rows of unsigned integers."""
    unsigned = np.dtype(f"u{array.dtype.itemsize}")
    bits = np.ascontiguousarray(array).view(unsigned)
    return bits.reshape(-1, 4) if array.dtype == np.uint32 else bits.reshape(-1, 1)


def _hex(words: Array) -> str:
    digits = 2 * words.dtype.itemsize
    return " ".join(f"0x{int(w):0{digits}x}" for w in words)

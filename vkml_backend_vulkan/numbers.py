"""Host numbers of a plan as bytes: written at each run into memory that recorded commands read."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from vkml_backend_vulkan.dispatch import SCALAR_BYTES
from vkml_core.dtypes import DType, Scalar, bool_, float16, float32, int32, int64
from vkml_core.plan import Slot

_CODES: Final[dict[DType, str]] = {bool_: "?", int32: "i", int64: "q", float16: "e", float32: "f"}
"""What `struct` calls a dtype."""


class Numbers:
    """Writes numbers of fixed dtypes, one every SCALAR_BYTES bytes, in the order of their slots."""

    def __init__(self, slots: Sequence[Slot]) -> None:
        """Take the slots in the order in which their numbers are given."""
        self._order = sorted(range(len(slots)), key=lambda i: slots[i].index)
        self._is_sorted = self._order == list(range(len(slots)))
        self._dtypes = dtypes = tuple(slots[i].dtype for i in self._order)
        self.nbytes: Final = SCALAR_BYTES * len(dtypes)
        fields = (f"{_CODES[t]}{SCALAR_BYTES - t.itemsize}x" for t in dtypes)
        self._packed = struct.Struct("<" + "".join(fields))

    def write(self, target: Any, scalars: Sequence[Scalar]) -> None:
        """Write `scalars` into a writable buffer, rounded once to their dtypes.

        Raises ValueError where there are more or fewer than dtypes.
        """
        # A NaN of Python may have any sign; the contract's has none.
        numbers = [n if n == n else math.nan for n in scalars]
        if not self._is_sorted and len(numbers) == len(self._order):
            numbers = [numbers[i] for i in self._order]
        try:
            self._packed.pack_into(target, 0, *numbers)
        except (OverflowError, struct.error):
            self._write_each(target, numbers)

    def _write_each(self, target: Any, numbers: Sequence[Scalar]) -> None:
        """Do what `struct` refuses: a float beyond the largest becomes an infinity."""
        if len(numbers) != len(self._dtypes):
            raise ValueError(f"run: got {len(numbers)} numbers, expected {len(self._dtypes)}")
        into = np.frombuffer(target, np.uint8)
        with np.errstate(over="ignore"):
            for i, (dtype, number) in enumerate(zip(self._dtypes, numbers, strict=True)):
                at = SCALAR_BYTES * i
                into[at : at + dtype.itemsize].view(dtype.numpy)[0] = number

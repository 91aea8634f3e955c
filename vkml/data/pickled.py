"""What a pickle may name, and what is made of it here: arrays of numbers and bytes, nothing else.

A pickle names functions to call. These names stand for constructors of our own, which check all
that they get; nothing is imported, and none of NumPy's own functions is called.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import Any, Final

import numpy as np

from vkml.data.order import Array
from vkml.data.published import DataError


class Name(Enum):
    """A name that a pickle of arrays has to mention."""

    NDARRAY = "numpy.ndarray"
    RECONSTRUCT = "numpy.core.multiarray._reconstruct"
    DTYPE = "numpy.dtype"
    ENCODE = "_codecs.encode"


NAMES: Final = {
    ("numpy", "ndarray"): Name.NDARRAY,
    ("numpy.core.multiarray", "_reconstruct"): Name.RECONSTRUCT,
    ("numpy._core.multiarray", "_reconstruct"): Name.RECONSTRUCT,
    ("numpy", "dtype"): Name.DTYPE,
    ("_codecs", "encode"): Name.ENCODE,
}
CODES: Final = frozenset({"u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8"})
MOST_DIMENSIONS: Final = 4


def find(module: object, name: object) -> Name:
    """Look a name up. Raises DataError for all but the few that are allowed."""
    if isinstance(module, str) and isinstance(name, str) and (module, name) in NAMES:
        return NAMES[module, name]
    raise DataError(
        f"names {shown(module)}.{shown(name)}; only arrays, strings, lists, dicts and ints are read"
    )


def shown(value: object) -> str:
    """Tell a value from a file in a few characters."""
    return ascii(value)[1:-1][:60] if isinstance(value, str) else f"<{type(value).__name__}>"


class PickledDtype:
    """The dtype of an array: its code, and its byte order once its state is set."""

    def __init__(self, code: str) -> None:
        self.code = code
        self.order = "|"

    def set_state(self, state: object) -> None:
        """Take (3, byte order, no fields, no names, no subarray, -1, -1, no flags)."""
        given = state if isinstance(state, tuple) and len(state) == 8 else ()
        order = text(given[1]) if given else ""
        rest = (*given[:1], *given[2:])
        plain = [x for x in rest if type(x) in (int, type(None))]
        if plain != [3, None, None, None, -1, -1, 0] or order not in ("|", "<", ">", "="):
            raise DataError("has a dtype that is not one of plain numbers")
        self.order = order

    def dtype(self) -> np.dtype[Any]:
        """Give NumPy's."""
        return np.dtype(self.order + self.code)


class PickledArray:
    """An array; it has its value once its state is set, which may be done once."""

    def __init__(self) -> None:
        self._array: Array | None = None

    def set_state(self, state: object) -> None:
        """Take (1, shape, dtype, is Fortran order, bytes)."""
        if self._array is not None or not isinstance(state, tuple) or len(state) != 5:
            raise DataError("has an array of a form that is not known")
        version, shape, kind, fortran, data = state
        if (
            (version != 1 or type(version) is not int)
            or not (isinstance(shape, tuple) and len(shape) <= MOST_DIMENSIONS)
            or not all(type(n) is int and n >= 0 for n in shape)
            or not (isinstance(kind, PickledDtype) and isinstance(data, bytes))
            or fortran not in (False, True)
        ):
            raise DataError("has an array of a form that is not known")
        dtype = kind.dtype()
        if math.prod(shape) * dtype.itemsize != len(data):
            raise DataError(f"has {len(data):,} bytes for an array {shape} of {dtype}")
        flat: Array = np.frombuffer(data, dtype).astype(dtype.newbyteorder("="), copy=False)
        self._array = flat.reshape(shape[::-1]).T if fortran else flat.reshape(shape)

    def value(self) -> Array:
        """Give the array. Raises DataError where it was left without a value."""
        if self._array is None:
            raise DataError("has an array without a value")
        return self._array


def _reconstruct(args: tuple[Any, ...]) -> PickledArray:
    if len(args) != 3 or args[0] is not Name.NDARRAY or args[1] != (0,) or text(args[2]) != "b":
        raise DataError("makes an array in a way that is not known")
    return PickledArray()


def _dtype(args: tuple[Any, ...]) -> PickledDtype:
    if len(args) != 3 or text(args[0]) not in CODES or not all(a in (0, 1) for a in args[1:]):
        raise DataError(f"has a dtype that is not one of plain numbers: {_told(args)}")
    return PickledDtype(text(args[0]))


def _encode(args: tuple[Any, ...]) -> bytes:
    """Give the bytes that Python 3 writes as text for Python 2."""
    if len(args) != 2 or not isinstance(args[0], str) or text(args[1]) != "latin1":
        raise DataError("encodes text in a way that is not known")
    try:
        return args[0].encode("latin-1")
    except UnicodeEncodeError:
        raise DataError("has text for bytes that is not latin1") from None


CONSTRUCTORS: Final[dict[Name, Callable[[tuple[Any, ...]], object]]] = {
    Name.RECONSTRUCT: _reconstruct,
    Name.DTYPE: _dtype,
    Name.ENCODE: _encode,
}


def text(value: object) -> str:
    """Read a short string, which Python 2 writes as bytes; "" for anything else."""
    if isinstance(value, bytes):
        return value[:60].decode("latin-1")
    return value[:60] if isinstance(value, str) else ""


def _told(args: tuple[Any, ...]) -> str:
    return shown(text(args[0])) if args else "nothing"

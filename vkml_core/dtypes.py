"""The five dtypes, their promotion and the conversion of Python and NumPy types to them.

Promotion is PyTorch's among these five: bool < int32 < int64 < float16 < float32; Python numbers
and tensors of rank 0 only matter when their category (bool, int, float) is above the others'.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

from vkml_core.errors import ArgumentError, DTypeError

Category = Literal["bool", "int", "float"]
"""What kind of numbers a dtype holds."""
Scalar = bool | int | float
"""A Python number."""

_ORDER: Final[dict[str, int]] = {"bool": 0, "int": 1, "float": 2}


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """One element type: `name`, `numpy` dtype, `category`, promotion `rank`."""

    name: str
    numpy: np.dtype[Any]
    category: Category
    rank: int

    @property
    def itemsize(self) -> int:
        """Bytes of one element as the host stores it."""
        return self.numpy.itemsize

    @property
    def is_floating_point(self) -> bool:
        """Whether it holds real numbers."""
        return self.category == "float"

    def __repr__(self) -> str:
        return f"vkml.{self.name}"

    def __reduce__(self) -> str:
        return self.name


bool_: Final = DType("bool_", np.dtype(np.bool_), "bool", 0)
"""False and True."""
int32: Final = DType("int32", np.dtype(np.int32), "int", 1)
"""Whole numbers of 32 bits, which wrap."""
int64: Final = DType("int64", np.dtype(np.int64), "int", 2)
"""Whole numbers of 64 bits, which wrap."""
float16: Final = DType("float16", np.dtype(np.float16), "float", 3)
"""IEEE 754 binary16: a format to store, computed in float32."""
float32: Final = DType("float32", np.dtype(np.float32), "float", 4)
"""IEEE 754 binary32."""

DTYPES: Final[tuple[DType, ...]] = (bool_, int32, int64, float16, float32)
"""All dtypes, in the order of promotion."""
FLOATS: Final = frozenset({float16, float32})
INTS: Final = frozenset({int32, int64})
NUMBERS: Final = FLOATS | INTS
ALL: Final = frozenset(DTYPES)
DEFAULT: Final[dict[Category, DType]] = {"bool": bool_, "int": int64, "float": float32}

_NAMES: Final = ", ".join(t.name for t in DTYPES)
_BY_NAME: Final = {t.name: t for t in DTYPES} | {"bool": bool_}
_BY_NUMPY: Final = {t.numpy: t for t in DTYPES} | {np.dtype(np.float64): float32}


def to_dtype(value: object) -> DType:
    """Turn a DType, its name, a NumPy dtype or `bool`/`int`/`float` into a DType.

    float64 is narrowed to float32; anything else raises DTypeError.

    >>> to_dtype("float32"), to_dtype(np.int64), to_dtype(float)
    (vkml.float32, vkml.int64, vkml.float32)
    """
    if isinstance(value, DType):
        return value
    if isinstance(value, str) and value in _BY_NAME:
        return _BY_NAME[value]
    found = None if value is None else _from_numpy(value)
    if found is None:
        raise DTypeError(f"dtype: {value!r} is not supported; vkml has {_NAMES}")
    return found


def _from_numpy(value: Any) -> DType | None:
    """Read anything that NumPy takes for a dtype."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # odd names, refused all the same
        try:
            return _BY_NUMPY.get(np.dtype(value).newbyteorder("="))
        except (TypeError, ValueError, SyntaxError):
            return None


def promote(a: DType, b: DType) -> DType:
    """Give the dtype of an operation between tensors of dtypes `a` and `b`."""
    return a if a.rank >= b.rank else b


def combine(higher: DType, lower: DType) -> DType:
    """Give the dtype of tensors of dtype `higher` with something that yields to them.

    Tensors of rank 0 yield to tensors with dimensions, Python numbers to both: they only matter
    if their category (bool, int, float) is above.

    >>> combine(int32, int64), combine(int32, float16), combine(float16, float32)
    (vkml.int32, vkml.float16, vkml.float16)
    """
    return higher if _ORDER[lower.category] <= _ORDER[higher.category] else promote(higher, lower)


def promote_scalar(tensor: DType, scalar: Scalar) -> DType:
    """Give the dtype of an operation between a tensor and a Python number.

    >>> promote_scalar(int32, 1), promote_scalar(int32, 0.5), promote_scalar(float16, 2.0)
    (vkml.int32, vkml.float32, vkml.float16)
    """
    return combine(tensor, DEFAULT[scalar_category(scalar)])


def scalar_category(scalar: Scalar) -> Category:
    """Give the category of a Python scalar."""
    if isinstance(scalar, bool | np.bool_):
        return "bool"
    return "int" if isinstance(scalar, int | np.integer) else "float"


def check_scalar(scalar: Scalar, dtype: DType) -> Scalar:
    """Convert a Python scalar for `dtype` exactly as stored, or raise ArgumentError.

    Floats are rounded once to the dtype; an int outside an integer dtype's range is an error.
    """
    if dtype.category == "bool":
        return bool(scalar)
    if dtype.category == "int":
        info = np.iinfo(dtype.numpy)
        if not info.min <= scalar <= info.max:
            raise ArgumentError(
                f"scalar: {scalar} does not fit {dtype.name} [{info.min}, {info.max}]; "
                "use a wider dtype"
            )
        return int(scalar)
    try:
        with np.errstate(over="ignore"):
            return float(dtype.numpy.type(scalar))
    except OverflowError:
        raise ArgumentError(f"scalar: {scalar} is too large for {dtype.name}") from None

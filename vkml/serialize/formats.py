"""The element types of the safetensors format, and what each becomes in NumPy and in vkml."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vkml_core.dtypes import DType, bool_, float16, float32, int32, int64

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Format:
    """One element type: how it lies in a file, and what holds its values in vkml, if anything."""

    stored: np.dtype[Any]
    dtype: DType | None

    def tensor_values(self, stored: Array) -> Array:
        """Give the values of stored elements in the dtype that vkml has for them."""
        assert self.dtype is not None
        with np.errstate(over="ignore", invalid="ignore"):
            return stored.astype(self.dtype.numpy, copy=False)


class Bfloat16(Format):
    """The upper halves of float32, which NumPy does not know."""

    def tensor_values(self, stored: Array) -> Array:
        """Put zeros behind each element's bits."""
        return (stored.astype(np.uint32) << 16).view(np.float32)


def _little(name: str) -> np.dtype[Any]:
    return np.dtype(name).newbyteorder("<")


FORMATS: Final[dict[str, Format]] = {
    "BOOL": Format(_little("bool"), bool_),
    "I8": Format(_little("int8"), int32),
    "U8": Format(_little("uint8"), int32),
    "I16": Format(_little("int16"), int32),
    "U16": Format(_little("uint16"), int32),
    "I32": Format(_little("int32"), int32),
    "U32": Format(_little("uint32"), int64),
    "I64": Format(_little("int64"), int64),
    "U64": Format(_little("uint64"), None),
    "F16": Format(_little("float16"), float16),
    "BF16": Bfloat16(_little("uint16"), float32),
    "F32": Format(_little("float32"), float32),
    "F64": Format(_little("float64"), float32),
}
"""By name in the header. Narrow integers widen exactly; F64 is narrowed as by `vkml.tensor`."""

STORABLE: Final = {f.stored: code for code, f in FORMATS.items() if not isinstance(f, Bfloat16)}
"""The names of the NumPy dtypes that can be saved."""

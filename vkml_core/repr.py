"""How a tensor prints: values, dtype, device and requires_grad as PyTorch shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from vkml_core.dtypes import DEFAULT

if TYPE_CHECKING:
    from vkml_core.tensor import Tensor

PRECISION: Final = 4
LINE: Final = 80
THRESHOLD: Final = 1000


def tensor_repr(tensor: Tensor) -> str:
    """Give `tensor(values, …)`; dtype and device are told where they are not the defaults."""
    array = tensor.numpy()
    told = []
    if array.size == 0 and array.ndim != 1:
        told.append(f"size={tensor.shape}")
    if tensor.device != "cpu":
        told.append(f"device='{tensor.device}'")
    if tensor.dtype is not DEFAULT[tensor.dtype.category]:
        told.append(f"dtype={tensor.dtype!r}")
    if tensor.requires_grad:
        told.append("requires_grad=True" if tensor.is_leaf else f"grad_fn=<{_maker(tensor)}>")
    return f"tensor({', '.join([_values(array), *told])})"


def _maker(tensor: Tensor) -> str:
    return tensor.node.op.name


def _values(array: npt.NDArray[Any]) -> str:
    if array.size == 0:
        return "[]"
    wide = array.astype(np.float64) if array.dtype.kind == "f" else array
    return np.array2string(
        wide,
        separator=", ",
        prefix="tensor(",
        max_line_width=LINE,
        threshold=THRESHOLD,
        formatter=_formatter(wide),  # type: ignore[arg-type]
    )


def _formatter(array: npt.NDArray[Any]) -> dict[str, Any]:
    """Choose one width and notation for all values, by PyTorch's rules."""
    if array.dtype.kind == "b":
        return {"bool": lambda v: f"{v!s:>5}" if array.ndim and not array.all() else str(v)}
    if array.dtype.kind != "f":
        width = max(len(str(v)) for v in (array.min(), array.max()))
        return {"int": lambda v: f"{v:>{width}d}" if array.ndim else str(v)}
    number = _float_format(array[np.isfinite(array) & (array != 0)])
    shown = [number(v) for v in array.reshape(-1)[: THRESHOLD * 2]]
    width = max(map(len, shown)) if array.ndim else 0
    return {"float_kind": lambda v: number(v).rjust(width)}


def _float_format(some: npt.NDArray[Any]) -> Any:
    if some.size == 0 or np.all(some == np.ceil(some)):
        wide = some.size and np.abs(some).max() >= 1e8
        style = f".{PRECISION}e" if wide else ".0f"
        return lambda v: _special(v, style, "" if wide else ".")
    big, small = np.abs(some).max(), np.abs(some).min()
    style = "e" if big / small > 1000 or big > 1e8 or small < 1e-4 else "f"
    return lambda v: _special(v, f".{PRECISION}{style}", "")


def _special(v: float, style: str, tail: str) -> str:
    return str(v) if not np.isfinite(v) else format(v, style) + tail

"""How a tensor prints: values, dtype, device and requires_grad as PyTorch shows them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from vkml_core.dtypes import DEFAULT, float32

if TYPE_CHECKING:
    from vkml_core.tensor import Tensor

PREFIX: Final = "tensor("
PRECISION: Final = 4
LINE: Final = 80
THRESHOLD: Final = 1000
"""Tensors of more elements show only the ends of each dimension."""
EDGE: Final = 3
"""How many elements are shown at each end."""


def tensor_repr(tensor: Tensor) -> str:
    """Give `tensor(values, …)`; dtype and device are told where they are not the defaults."""
    array = tensor.numpy()
    text = PREFIX + _values(array)
    used = len(text) - text.rfind("\n") + 1
    for word in _told(tensor):
        breaks = used + len(word) + 2 > LINE
        text += (",\n" + " " * len(PREFIX) if breaks else ", ") + word
        used = (len(PREFIX) if breaks else used + 2) + len(word)
    return text + ")"


def _told(tensor: Tensor) -> list[str]:
    """List what is told besides the values."""
    told = []
    if tensor.device != "cpu":
        told.append(f"device='{tensor.device}'")
    if tensor.size == 0 and tensor.ndim != 1:
        told.append(f"size={tensor.shape}")
    if tensor.dtype is not (DEFAULT[tensor.dtype.category] if tensor.size else float32):
        told.append(f"dtype={tensor.dtype!r}")
    if tensor.requires_grad:
        leaf, maker = tensor.is_leaf, tensor.node.op.name
        told.append("requires_grad=True" if leaf else f"grad_fn=<{maker}>")
    return told


@dataclass(frozen=True, slots=True)
class _Style:
    """One notation and width for all the values of a tensor."""

    number: Callable[[Any], str]
    width: int

    def __call__(self, value: Any) -> str:
        return self.number(value).rjust(self.width)


def _values(array: npt.NDArray[Any]) -> str:
    if array.size == 0:
        return "[]"
    cut = array.size > THRESHOLD
    return _nested(array, len(PREFIX), cut, _style(_ends(array) if cut else array))


def _ends(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Keep what is shown of a large tensor."""
    for axis, n in enumerate(array.shape):
        if n > 2 * EDGE:
            array = array.take([*range(EDGE), *range(n - EDGE, n)], axis)
    return array


def _style(array: npt.NDArray[Any]) -> _Style:
    """Choose the style; zeros and what is not finite have no say, as in PyTorch."""
    if array.dtype.kind != "f":
        return _Style(str, max(len(str(v)) for v in array.reshape(-1).tolist()))
    some = array[np.isfinite(array) & (array != 0)].astype(np.float64)
    number = _notation(some)
    return _Style(number, max((len(number(v)) for v in some.tolist()), default=1))


def _notation(some: npt.NDArray[np.float64]) -> Callable[[float], str]:
    if some.size == 0:
        return _whole
    big, small = np.abs(some).max(), np.abs(some).min()
    if big / small > 1000 or big > 1e8 or small < 1e-4:
        return f"{{:.{PRECISION}e}}".format
    return _whole if np.all(some == np.ceil(some)) else f"{{:.{PRECISION}f}}".format


def _whole(value: float) -> str:
    return f"{value:.0f}" + "." * math.isfinite(value)


def _nested(array: npt.NDArray[Any], indent: int, cut: bool, style: _Style) -> str:
    """Print nested brackets, the rows below each other."""
    if array.ndim == 0:
        return style(array.item())
    cut_here = cut and len(array) > 2 * EDGE
    parts = [array[:EDGE], array[-EDGE:]] if cut_here else [array]
    if array.ndim == 1:
        shown = [[style(v) for v in part.tolist()] for part in parts]
        return "[" + _rows(_joined(shown, " ..."), indent, style.width) + "]"
    shown = [[_nested(row, indent + 1, cut, style) for row in part] for part in parts]
    between = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + between.join(_joined(shown, "...")) + "]"


def _joined(parts: list[list[str]], dots: str) -> list[str]:
    return parts[0] if len(parts) == 1 else [*parts[0], dots, *parts[1]]


def _rows(words: list[str], indent: int, width: int) -> str:
    """Break a row of values into lines."""
    n = max(1, (LINE - indent) // (width + 2))
    lines = [", ".join(words[i : i + n]) for i in range(0, len(words), n)]
    return (",\n" + " " * (indent + 1)).join(lines)

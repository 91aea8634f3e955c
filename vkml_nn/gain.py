"""The factors by which PyTorch's starting values allow for the function that follows a layer."""

from __future__ import annotations

import math
from typing import Final

from vkml_core.functional.common import choice_arg, number_arg

_LINEAR: Final = (
    "linear",
    *(f"conv{n}d" for n in (1, 2, 3)),
    *(f"conv_transpose{n}d" for n in (1, 2, 3)),
)
_GAINS: Final = {
    **dict.fromkeys((*_LINEAR, "sigmoid"), 1.0),
    "tanh": 5.0 / 3.0,
    "relu": math.sqrt(2.0),
    "selu": 0.75,
}
_NAMES: Final = (*_GAINS, "leaky_relu")
_SLOPE: Final = 0.01


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Give the gain for a function by its name; `param` is leaky_relu's slope, else 0.01.

    Source: PyTorch's table; leaky_relu √(2 / (1 + slope²)), He et al. (2015).

    >>> calculate_gain("leaky_relu", 1.0)
    1.0
    """
    name = choice_arg(nonlinearity, "calculate_gain: nonlinearity", _NAMES)
    if name in _GAINS:
        return _GAINS[name]
    slope = _SLOPE if param is None else number_arg(param, "calculate_gain: param")
    return math.sqrt(2.0 / (1.0 + slope**2))

"""PositionalEncoding: sinusoids that tell positions apart, the same bits on every machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vkml_core.dtypes import float32, to_dtype
from vkml_core.errors import ArgumentError, ShapeError
from vkml_core.functional.common import float_arg, number_arg
from vkml_core.functional.creation import Device, tensor
from vkml_core.tensor import Tensor
from vkml_nn.arguments import count_arg
from vkml_nn.dropout import Dropout
from vkml_nn.module import Module

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
"""Angles in 2⁻⁶⁴ of a turn: adding them is exact, and whole turns vanish."""

_QUARTER: Final = 2**62
_DECIMAL: Final = Context(prec=50)
_TURN: Final = Decimal("6.2831853071795864769252867665590057683943387987502")
"""2π to 50 digits."""
_SINE, _COSINE = (
    tuple((-1) ** k / math.factorial(2 * k + odd) for k in range(9)) for odd in (1, 0)
)
"""Taylor coefficients in x²: for |x| ≤ π/4 what is left out is below 2⁻⁵⁸."""


def _steps(d_model: int, base: float) -> Words:
    """Give base^(−2i/d) for each pair of columns as a part of a turn, by correctly rounded ln, exp.

    Decimal arithmetic is the same on every machine; the C library's functions are not.
    """
    scale = _DECIMAL.divide(_DECIMAL.ln(Decimal(base)), Decimal(d_model))
    found = []
    for i in range(0, d_model, 2):
        step = _DECIMAL.divide(_DECIMAL.exp(_DECIMAL.multiply(scale, Decimal(-i))), _TURN)
        found.append(int(_DECIMAL.multiply(step, Decimal(2**64))) % 2**64)
    return np.array(found, np.uint64)


def _series(square: Floats, coefficients: Sequence[float]) -> Floats:
    """Evaluate a series by Horner's rule: products and sums, each rounded as IEEE 754 says."""
    value = np.full_like(square, coefficients[-1])
    for c in coefficients[-2::-1]:
        value *= square
        value += c
    return value


def _sine(angle: Words) -> Floats:
    """Give the sine of angles, within about 2⁻⁵²."""
    quadrant = (angle + np.uint64(_QUARTER // 2)) >> np.uint64(62)
    rest = (angle - (quadrant << np.uint64(62))).view(np.int64)
    x = rest.astype(np.float64) * (float(_TURN) * 2.0**-64)
    square = x * x
    wave = np.where(quadrant & np.uint64(1), _series(square, _COSINE), x * _series(square, _SINE))
    return np.where(quadrant & np.uint64(2), -wave, wave)


def sinusoids(length: int, d_model: int, base: float) -> npt.NDArray[np.float32]:
    """Give sin(p · base^(−2i/d)) in column 2i and the cosine in 2i + 1, for each position p."""
    angles = np.arange(length, dtype=np.uint64)[:, None] * _steps(d_model, base)
    table = np.empty((length, d_model), np.float32)
    table[:, 0::2] = _sine(angles)
    table[:, 1::2] = _sine(angles + np.uint64(_QUARTER))[:, : d_model // 2]
    return table


class PositionalEncoding(Module):
    """Add sin(p · base^(−2i/d)) to column 2i and the cosine to 2i + 1 of position p, then dropout.

    The input is (N, L, d_model) or (L, d_model), L ≤ max_len. The table is the buffer `pe`
    (max_len, d_model), rounded once from float64; it is not part of the state, which the arguments
    determine. Vaswani et al. (2017), section 3.5.

    >>> import vkml
    >>> from vkml import nn
    >>> nn.PositionalEncoding(4)(vkml.zeros(1, 4)).tolist()
    [[0.0, 1.0, 0.0, 1.0]]
    """

    pe: Tensor

    def __init__(
        self,
        d_model: int,
        max_len: int = 5000,
        base: float = 10000.0,
        dropout: float = 0.0,
        device: Device = None,
        dtype: Any = float32,
    ) -> None:
        super().__init__()
        self.d_model = count_arg(d_model, "PositionalEncoding: d_model")
        self.max_len = count_arg(max_len, "PositionalEncoding: max_len")
        self.base = number_arg(base, "PositionalEncoding: base")
        if not 1.0 <= self.base < math.inf:
            raise ArgumentError(f"PositionalEncoding: base must be ≥ 1 and finite, got {base}")
        self.dropout = Dropout(dropout)
        table = sinusoids(self.max_len, self.d_model, self.base)
        made = tensor(table, dtype=to_dtype(dtype), device=device)
        self.register_buffer("pe", made, persistent=False)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer; ShapeError for another width, rank, or more positions than max_len."""
        x = float_arg(input, "PositionalEncoding: input")
        if x.ndim not in (2, 3) or x.shape[-1] != self.d_model or x.shape[-2] > self.max_len:
            raise ShapeError(
                f"PositionalEncoding: expected (N, L, {self.d_model}) or (L, {self.d_model}) with "
                f"L ≤ {self.max_len}, got {x.shape}"
            )
        output: Tensor = self.dropout(x + self.pe[: x.shape[-2]])
        return output

    def extra_repr(self) -> str:
        """Say the sizes and the base."""
        return f"{self.d_model}, max_len={self.max_len}, base={self.base}"

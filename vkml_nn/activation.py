"""Activations as modules."""

from __future__ import annotations

from vkml_core.functional.common import choice_arg
from vkml_core.tensor import Tensor
from vkml_nn.module import Module


class ReLU(Module):
    """x where x > 0, else 0."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return input.relu()


class Tanh(Module):
    """The hyperbolic tangent."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return input.tanh()


class Sigmoid(Module):
    """1 / (1 + e^(−x))."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return input.sigmoid()


class GELU(Module):
    """x · Φ(x), the exact form; Hendrycks and Gimpel (2016)."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = choice_arg(approximate, "GELU: approximate", ("none",))

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return input.gelu()

    def extra_repr(self) -> str:
        """Say which form it is."""
        return f"approximate={self.approximate!r}"

"""Activations as modules."""

from __future__ import annotations

from typing import Any

from vkml_core.functional import elementwise, normal
from vkml_core.functional.common import choice_arg, number_arg
from vkml_core.shapes import to_int
from vkml_core.tensor import Tensor
from vkml_nn.functional import GELU_FORMS, gelu
from vkml_nn.module import Module


class Identity(Module):
    """The input itself; arguments are taken and not used, so that it can stand for any module."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """Give the input."""
        return input


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


class SiLU(Module):
    """x · sigmoid(x); Hendrycks and Gimpel (2016)."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return input.silu()


class GELU(Module):
    """x · Φ(x), exactly or ("tanh") approximately; Hendrycks and Gimpel (2016)."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = choice_arg(approximate, "GELU: approximate", GELU_FORMS)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return gelu(input, self.approximate)

    def extra_repr(self) -> str:
        """Say which form it is."""
        return f"approximate={self.approximate!r}"


class LeakyReLU(Module):
    """x where x > 0, else negative_slope · x."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope = number_arg(negative_slope, "LeakyReLU: negative_slope")

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return input.leaky_relu(self.negative_slope)

    def extra_repr(self) -> str:
        """Say the slope."""
        return f"negative_slope={self.negative_slope}"


class ELU(Module):
    """x where x > 0, else alpha · (eˣ − 1); Clevert et al. (2015)."""

    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = number_arg(alpha, "ELU: alpha")

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return input.elu(self.alpha)

    def extra_repr(self) -> str:
        """Say the scale."""
        return f"alpha={self.alpha}"


class Softplus(Module):
    """ln(1 + e^(beta·x)) / beta, and x itself where beta · x > threshold."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = number_arg(beta, "Softplus: beta")
        self.threshold = number_arg(threshold, "Softplus: threshold")

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return elementwise.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Say the numbers."""
        return f"beta={self.beta}, threshold={self.threshold}"


class Softmax(Module):
    """Positive numbers that add up to 1 along `dim`: eˣ over the sum of eˣ."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = to_int(dim, f"{type(self).__name__}: dim")

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return normal.softmax(input, self.dim)

    def extra_repr(self) -> str:
        """Say the dimension."""
        return f"dim={self.dim}"


class LogSoftmax(Softmax):
    """The logarithm of `Softmax`, without losing small ones."""

    def forward(self, input: Tensor) -> Tensor:
        """Apply the function."""
        return normal.log_softmax(input, self.dim)

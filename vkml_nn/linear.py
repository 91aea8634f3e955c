"""Linear: the fully connected layer."""

from __future__ import annotations

from typing import Any

from vkml_core.dtypes import float32
from vkml_core.errors import ArgumentError
from vkml_core.functional.creation import Device, zeros
from vkml_core.shapes import to_int
from vkml_core.tensor import Tensor
from vkml_nn import init
from vkml_nn.functional import linear
from vkml_nn.module import Module
from vkml_nn.parameter import Parameter


def count_arg(value: int, what: str) -> int:
    """Check that a number of features or channels is at least 1."""
    n = to_int(value, what)
    if n < 1:
        raise ArgumentError(f"{what}: expected at least 1, got {n}")
    return n


class Linear(Module):
    """x Wᵀ + b for x (…, in_features), W (out_features, in_features), b (out_features,)."""

    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Device = None,
        dtype: Any = float32,
    ) -> None:
        super().__init__()
        self.in_features = count_arg(in_features, "Linear: in_features")
        self.out_features = count_arg(out_features, "Linear: out_features")
        shape = (self.out_features, self.in_features)
        self.weight = Parameter(zeros(shape, dtype=dtype, device=device))
        shift = Parameter(zeros(shape[0], dtype=dtype, device=device)) if bias else None
        self.register_parameter("bias", shift)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        init.fan_in_uniform_(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        return linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )

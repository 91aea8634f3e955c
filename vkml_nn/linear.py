"""Linear: the fully connected layer."""

from __future__ import annotations

from typing import Any

from vkml_core.dtypes import float32
from vkml_core.functional.creation import Device
from vkml_core.tensor import Tensor
from vkml_nn.arguments import count_arg
from vkml_nn.functional import linear
from vkml_nn.weighted import Weighted


class Linear(Weighted):
    """x Wᵀ + b for x (…, in_features), W (out_features, in_features), b (out_features,)."""

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
        self.make_parameters(shape, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        return linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Say the sizes."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )

"""What layers with a weight (out, in, …) and an optional bias (out,) share."""

from __future__ import annotations

from typing import Any

from vkml_core.functional.creation import Device, zeros
from vkml_core.shapes import Shape
from vkml_nn import init
from vkml_nn.module import Module
from vkml_nn.parameter import Parameter


class Weighted(Module):
    """A layer with `weight` and `bias`, filled uniformly within ±1/√fan_in."""

    weight: Parameter
    bias: Parameter | None

    def make_parameters(self, shape: Shape, bias: bool, device: Device, dtype: Any) -> None:
        """Make the weight of `shape` and, if asked, a bias for its first dimension."""
        self.weight = Parameter(zeros(shape, dtype=dtype, device=device))
        shift = Parameter(zeros(shape[0], dtype=dtype, device=device)) if bias else None
        self.register_parameter("bias", shift)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        init.fan_in_uniform_(self.weight, self.bias)

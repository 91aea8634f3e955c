"""What the normalisations share: a scale and a shift that start as ones and zeros."""

from __future__ import annotations

from typing import Any

from vkml_core.functional.creation import Device, ones, zeros
from vkml_core.shapes import Shape
from vkml_nn import init
from vkml_nn.module import Module
from vkml_nn.parameter import Parameter


class Affine(Module):
    """A layer with `weight`, and perhaps `bias`, each a parameter or None."""

    weight: Parameter | None
    bias: Parameter | None

    def make_parameters(
        self, shape: Shape, weight: bool, bias: bool | None, device: Device, dtype: Any
    ) -> None:
        """Make the scale, and the shift if both are asked for; `bias` None means no such name."""
        scale = Parameter(ones(shape, dtype=dtype, device=device)) if weight else None
        self.register_parameter("weight", scale)
        if bias is not None:
            shifted = weight and bias
            shift = Parameter(zeros(shape, dtype=dtype, device=device)) if shifted else None
            self.register_parameter("bias", shift)

    def reset_parameters(self) -> None:
        """Go back to ones and zeros."""
        for name, value in (("weight", 1.0), ("bias", 0.0)):
            tensor = self._parameters.get(name)
            if tensor is not None:
                init.constant_(tensor, value)

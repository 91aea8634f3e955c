"""Flatten: merging dimensions between layers."""

from __future__ import annotations

from vkml_core.shapes import to_int
from vkml_core.tensor import Tensor
from vkml_nn.module import Module


class Flatten(Module):
    """Merge the dimensions from `start_dim` to `end_dim` into one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = to_int(start_dim, "Flatten: start_dim")
        self.end_dim = to_int(end_dim, "Flatten: end_dim")

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        """Say the range."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"

"""LayerNorm, RMSNorm and GroupNorm: normalising each sample by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkml_core.dtypes import float32
from vkml_core.errors import ArgumentError
from vkml_core.functional.common import bool_arg
from vkml_core.functional.creation import Device
from vkml_core.tensor import Tensor
from vkml_nn.affine import Affine
from vkml_nn.arguments import count_arg, counts_arg, eps_arg
from vkml_nn.normalize import group_norm, layer_norm, rms_norm


class LayerNorm(Affine):
    """Normalise over the last dimensions, then scale by `weight` and shift by `bias`.

    The layer is (x − mean) · 1/√(variance + eps) · weight + bias for x (…, *normalized_shape), with
    weight and bias of normalized_shape; the variance is the biased one. Ba et al. (2016).

    >>> import vkml
    >>> from vkml import nn
    >>> nn.LayerNorm(2)(vkml.tensor([[1.0, 3.0]])).shape
    (1, 2)
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Device = None,
        dtype: Any = float32,
    ) -> None:
        super().__init__()
        self.normalized_shape = counts_arg(normalized_shape, "LayerNorm: normalized_shape")
        self.eps = eps_arg(eps, "LayerNorm: eps")
        affine = bool_arg(elementwise_affine, "LayerNorm: elementwise_affine")
        self.elementwise_affine = affine
        shift = bool_arg(bias, "LayerNorm: bias")
        self.make_parameters(self.normalized_shape, affine, shift, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        return layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Say the shape and the options."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class RMSNorm(Affine):
    """x · 1/√(mean(x²) + eps) · weight for x (…, *normalized_shape); Zhang and Sennrich (2019).

    `eps` None means 2⁻²³, as in PyTorch.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Device = None,
        dtype: Any = float32,
    ) -> None:
        super().__init__()
        self.normalized_shape = counts_arg(normalized_shape, "RMSNorm: normalized_shape")
        self.eps = None if eps is None else eps_arg(eps, "RMSNorm: eps")
        affine = bool_arg(elementwise_affine, "RMSNorm: elementwise_affine")
        self.elementwise_affine = affine
        self.make_parameters(self.normalized_shape, affine, None, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        """Apply the layer."""
        return rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """Say the shape and the options."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
        )


class GroupNorm(Affine):
    """Normalise each group of num_channels / num_groups channels of each sample (C, …).

    Then scale by `weight` (num_channels,) and shift by `bias`; the variance is the biased one.
    Wu and He (2018).
    """

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Device = None,
        dtype: Any = float32,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_groups = count_arg(num_groups, "GroupNorm: num_groups")
        self.num_channels = count_arg(num_channels, "GroupNorm: num_channels")
        if self.num_channels % self.num_groups:
            raise ArgumentError(
                f"GroupNorm: num_groups {num_groups} must divide num_channels {num_channels}"
            )
        self.eps = eps_arg(eps, "GroupNorm: eps")
        self.affine = bool_arg(affine, "GroupNorm: affine")
        shift = bool_arg(bias, "GroupNorm: bias")
        self.make_parameters((self.num_channels,), self.affine, shift, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        return group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """Say the sizes and the options."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )

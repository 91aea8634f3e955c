"""Conv2d and MaxPool2d: layers over images (N, C, H, W)."""

from __future__ import annotations

from typing import Any

from vkml_core.dtypes import float32
from vkml_core.errors import ArgumentError
from vkml_core.functional.common import pair_arg
from vkml_core.functional.conv import conv2d, max_pool2d
from vkml_core.functional.creation import Device
from vkml_core.tensor import Tensor
from vkml_nn.linear import count_arg
from vkml_nn.module import Module
from vkml_nn.weighted import Weighted


class Conv2d(Weighted):
    """Cross-correlation of (N, in_channels, H, W) with weight (out, in/groups, kh, kw), plus bias.

    kernel_size, stride, padding and dilation are an int or a pair (vertical, horizontal).
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        device: Device = None,
        dtype: Any = float32,
    ) -> None:
        super().__init__()
        self.in_channels = count_arg(in_channels, "Conv2d: in_channels")
        self.out_channels = count_arg(out_channels, "Conv2d: out_channels")
        self.groups = count_arg(groups, "Conv2d: groups")
        if self.in_channels % self.groups or self.out_channels % self.groups:
            raise ArgumentError(
                f"Conv2d: groups {groups} must divide in_channels {in_channels} "
                f"and out_channels {out_channels}"
            )
        self.kernel_size = pair_arg(kernel_size, "Conv2d: kernel_size")
        self.stride = pair_arg(stride, "Conv2d: stride")
        self.padding = pair_arg(padding, "Conv2d: padding")
        self.dilation = pair_arg(dilation, "Conv2d: dilation")
        shape = (self.out_channels, self.in_channels // self.groups, *self.kernel_size)
        self.make_parameters(shape, bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        geometry = (self.stride, self.padding, self.dilation, self.groups)
        return conv2d(input, self.weight, self.bias, *geometry)

    def extra_repr(self) -> str:
        """Say the sizes, and what differs from the defaults."""
        told = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        ]
        defaults = {"padding": (0, 0), "dilation": (1, 1), "groups": 1}
        told += [f"{k}={getattr(self, k)}" for k, v in defaults.items() if getattr(self, k) != v]
        return ", ".join(told if self.bias is not None else [*told, "bias=False"])


class MaxPool2d(Module):
    """The largest element of each window; no stride means the kernel's size."""

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        return max_pool2d(input, self.kernel_size, self.stride, self.padding, self.dilation)

    def extra_repr(self) -> str:
        """Say the geometry."""
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode=False"
        )

"""Pooling layers over images (N, C, H, W) or (C, H, W)."""

from __future__ import annotations

from typing import Any

from vkml_core.functional.common import bool_arg
from vkml_core.tensor import Tensor
from vkml_nn.module import Module
from vkml_nn.pool import OutputSize, adaptive_avg_pool2d, avg_pool2d, max_pool2d, output_size_arg


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


class AvgPool2d(Module):
    """The mean of each window; no stride means the kernel's size.

    Padding counts as zeros, or not at all if `count_include_pad` is false.
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        *,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.count_include_pad = bool_arg(count_include_pad, "AvgPool2d: count_include_pad")

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        geometry = (self.kernel_size, self.stride, self.padding)
        return avg_pool2d(input, *geometry, count_include_pad=self.count_include_pad)

    def extra_repr(self) -> str:
        """Say the geometry."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AdaptiveAvgPool2d(Module):
    """The mean of as many windows as give `output_size`: an int, or a pair; None keeps a size.

    >>> import vkml
    >>> from vkml import nn
    >>> nn.AdaptiveAvgPool2d((2, None))(vkml.ones(1, 3, 5, 4)).shape
    (1, 3, 2, 4)
    """

    def __init__(self, output_size: OutputSize) -> None:
        super().__init__()
        output_size_arg(output_size, "AdaptiveAvgPool2d: output_size")
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        return adaptive_avg_pool2d(input, self.output_size)

    def extra_repr(self) -> str:
        """Say the size."""
        return f"output_size={self.output_size}"

"""Conv1d and Conv2d: convolution layers over sequences (N, C, L) and images (N, C, H, W)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from vkml_core.dtypes import float32
from vkml_core.errors import ArgumentError
from vkml_core.functional.common import choice_arg
from vkml_core.functional.creation import Device
from vkml_core.tensor import Tensor
from vkml_nn.arguments import count_arg, counts_arg, spread_arg
from vkml_nn.convolve import PADDINGS, conv1d, conv2d
from vkml_nn.weighted import Weighted


class Convolution(Weighted):
    """What convolutions over `rank` dimensions share: all but the function that they call."""

    rank: ClassVar[int]
    function: ClassVar[Callable[..., Tensor]]

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
        padding_mode: str = "zeros",
        device: Device = None,
        dtype: Any = float32,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        self.in_channels = count_arg(in_channels, f"{name}: in_channels")
        self.out_channels = count_arg(out_channels, f"{name}: out_channels")
        self.groups = count_arg(groups, f"{name}: groups")
        if self.in_channels % self.groups or self.out_channels % self.groups:
            raise ArgumentError(
                f"{name}: groups {groups} must divide in_channels {in_channels} "
                f"and out_channels {out_channels}"
            )
        kernel = spread_arg(kernel_size, f"{name}: kernel_size", self.rank)
        self.kernel_size = counts_arg(kernel, f"{name}: kernel_size")
        self.stride = spread_arg(stride, f"{name}: stride", self.rank)
        self.padding = self._read_padding(padding)
        self.dilation = spread_arg(dilation, f"{name}: dilation", self.rank)
        self.padding_mode = choice_arg(padding_mode, f"{name}: padding_mode", ("zeros",))
        shape = (self.out_channels, self.in_channels // self.groups, *self.kernel_size)
        self.make_parameters(shape, bias, device, dtype)

    def _read_padding(self, padding: Any) -> str | tuple[int, ...]:
        what = f"{type(self).__name__}: padding"
        if not isinstance(padding, str):
            return spread_arg(padding, what, self.rank)
        if choice_arg(padding, what, PADDINGS) == "same" and any(s != 1 for s in self.stride):
            raise ArgumentError(f"{what}: 'same' needs stride 1, got {self.stride}")
        return padding

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        geometry = (self.stride, self.padding, self.dilation, self.groups)
        return type(self).function(input, self.weight, self.bias, *geometry)

    def extra_repr(self) -> str:
        """Say the sizes, and what differs from the defaults."""
        told = [
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}"
        ]
        defaults = {"padding": (0,) * self.rank, "dilation": (1,) * self.rank, "groups": 1}
        told += [f"{k}={getattr(self, k)}" for k, v in defaults.items() if getattr(self, k) != v]
        return ", ".join(told if self.bias is not None else [*told, "bias=False"])


class Conv1d(Convolution):
    """Cross-correlation of (N, in_channels, L) with weight (out, in/groups, k), plus bias.

    kernel_size, stride, padding and dilation are ints; padding may be "valid" (none) or "same"
    (as much as keeps L at stride 1). One sample may come without N.

    >>> import vkml
    >>> from vkml import nn
    >>> nn.Conv1d(4, 8, 3, padding="same")(vkml.ones(2, 4, 10)).shape
    (2, 8, 10)
    """

    rank = 1
    function = staticmethod(conv1d)


class Conv2d(Convolution):
    """Cross-correlation of (N, in_channels, H, W) with weight (out, in/groups, kh, kw), plus bias.

    kernel_size, stride, padding and dilation are an int or a pair (vertical, horizontal); padding
    may be "valid" (none) or "same" (as much as keeps the size at stride 1). One sample may come
    without N.
    """

    rank = 2
    function = staticmethod(conv2d)

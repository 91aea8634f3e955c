"""Pooling as functions: what PyTorch's take beyond those of the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkml_core.errors import ShapeError
from vkml_core.functional import conv
from vkml_core.functional.common import bool_arg
from vkml_core.functional.creation import ones
from vkml_core.functional.joining import cat
from vkml_core.functional.reduce import mean
from vkml_core.shapes import size
from vkml_core.tensor import Tensor
from vkml_nn.arguments import count_arg
from vkml_nn.convolve import batched

OutputSize = int | Sequence[int | None]


def max_pool2d(
    input: Tensor, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1
) -> Tensor:
    """Largest element of each window of (N, C, H, W) or (C, H, W); NaN is the largest.

    No stride means the kernel's size.
    """
    geometry = (kernel_size, stride, padding, dilation)
    return batched("max_pool2d", input, 3, lambda x: conv.max_pool2d(x, *geometry))


def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    *,
    count_include_pad: bool = True,
) -> Tensor:
    """Mean of each window of (N, C, H, W) or (C, H, W); no stride means the kernel's size.

    Padding counts as zeros, or not at all if `count_include_pad` is false.
    """
    geometry = (kernel_size, stride, padding)
    y = batched("avg_pool2d", input, 3, lambda x: conv.avg_pool2d(x, *geometry))
    if bool_arg(count_include_pad, "avg_pool2d: count_include_pad"):
        return y
    # The mean of ones is the share of each window that is not padding.
    whole = ones(1, 1, *input.shape[-2:], dtype=input.dtype, device=input.device)
    share = conv.avg_pool2d(whole, *geometry)
    return y / share.reshape(share.shape[2:])


def output_size_arg(output_size: OutputSize, what: str) -> tuple[int | None, int | None]:
    """Read the size that is asked for: an int for both dimensions, or two ints or None."""
    if not isinstance(output_size, Sequence):
        size = count_arg(output_size, what)
        return size, size
    sizes = tuple(output_size)
    if len(sizes) != 2:
        raise ShapeError(f"{what}: expected an int or two, got {len(sizes)}")
    height, width = (None if n is None else count_arg(n, what) for n in sizes)
    return height, width


def adaptive_avg_pool2d(input: Tensor, output_size: OutputSize) -> Tensor:
    """Mean of as many windows of (N, C, H, W) or (C, H, W) as give `output_size`.

    Of n elements window i of m covers ⌊i·n/m⌋ … ⌈(i+1)·n/m⌉ − 1, as in PyTorch; None keeps a size.
    """
    op = "adaptive_avg_pool2d"
    sizes = output_size_arg(output_size, f"{op}: output_size")

    def apply(x: Tensor) -> Tensor:
        for axis, wanted in zip((3, 2), reversed(sizes), strict=True):
            if wanted is not None and wanted != x.shape[axis]:
                x = _narrowed(op, x, axis, wanted)
        return x

    return batched(op, input, 3, apply)


def _narrowed(op: str, x: Tensor, axis: int, m: int) -> Tensor:
    """Take the means of m windows along one dimension."""
    n = x.shape[axis]
    if n == 0:
        raise ShapeError(f"{op}: input has shape {x.shape}, expected no empty height or width")
    before, after = size(x.shape[:axis]), size(x.shape[axis + 1 :])
    if n % m == 0:
        y = mean(x.reshape(before, m, n // m, after), 2)
    else:
        rows = x.reshape(before, n, after)
        windows = [rows[:, i * n // m : -(-(i + 1) * n // m)] for i in range(m)]
        y = cat([mean(window, 1, True) for window in windows], 1)
    return y.reshape(*x.shape[:axis], m, *x.shape[axis + 1 :])

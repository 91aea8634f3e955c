"""Convolution and pooling over images (N, C, H, W)."""

from __future__ import annotations

from typing import Any

from vkml_core.errors import ShapeError
from vkml_core.functional.common import (
    float_arg,
    operands,
    pair_arg,
    result_dtype,
    same_device,
    wrap,
)
from vkml_core.functional.shape import window_args
from vkml_core.graph import build
from vkml_core.ops.rules import cast
from vkml_core.public import public
from vkml_core.shapes import to_int
from vkml_core.tensor import Tensor


@public()
def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlate (N, C, H, W) with weight (O, C/groups, kh, kw), then add bias (O,)."""
    x, w = float_arg(input, "conv2d: input"), float_arg(weight, "conv2d: weight")
    same_device("conv2d", x, w)
    dtype = result_dtype("conv2d", x, w)
    y = wrap(
        build.conv2d(
            cast(x.node, dtype),
            cast(w.node, dtype),
            stride=pair_arg(stride, "conv2d: stride"),
            padding=pair_arg(padding, "conv2d: padding"),
            dilation=pair_arg(dilation, "conv2d: dilation"),
            groups=to_int(groups, "conv2d: groups"),
        )
    )
    if bias is None:
        return y
    b = float_arg(bias, "conv2d: bias")
    if b.shape != (y.shape[1],):
        raise ShapeError(f"conv2d: bias has shape {b.shape}, expected {(y.shape[1],)}")
    return wrap(build.add(*operands("conv2d", y.dtype, y, b.reshape(1, -1, 1, 1))))


@public()
def max_pool2d(
    input: Tensor, kernel: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1
) -> Tensor:
    """Largest element of each window; NaN is the largest; no stride means the kernel's size."""
    window = window_args("max_pool2d", kernel, stride, padding, dilation)
    return wrap(build.max_pool2d(float_arg(input, "max_pool2d: input").node, **window))


@public()
def avg_pool2d(input: Tensor, kernel: Any, stride: Any = None, padding: Any = 0) -> Tensor:
    """Mean of each window, padding counted as zeros; no stride means the kernel's size."""
    window = window_args("avg_pool2d", kernel, stride, padding, 1)
    del window["dilation"]
    return wrap(build.avg_pool2d(float_arg(input, "avg_pool2d: input").node, **window))

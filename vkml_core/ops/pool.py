"""Rows of pooling over windows of images."""

from __future__ import annotations

from collections.abc import Sequence

from vkml_core.dtypes import FLOATS, NUMBERS, int64
from vkml_core.errors import ShapeError
from vkml_core.graph import Node, const
from vkml_core.ops.conv import Pair, Window, check_images, window_size
from vkml_core.ops.gradients import (
    avg_pool2d_gradient,
    max_pool2d_gradient,
    max_pool2d_input_grad_gradient,
    max_unpool2d_gradient,
)
from vkml_core.ops.rules import each
from vkml_core.ops.spec import Form, Kind, NotDifferentiable, OpSpec, Typed, attributes, register


@attributes
class AvgWindow:
    """A sliding window without dilation."""

    kernel: Pair
    stride: Pair
    padding: Pair


@attributes
class Image:
    """Height and width of an image."""

    image: Pair


def _infer_max_pool(inputs: Sequence[Node], a: Window) -> Typed:
    check_images("max_pool2d", *inputs)
    n, c, *image = inputs[0].shape
    if any(2 * p > k for p, k in zip(a.padding, a.kernel, strict=True)):
        raise ShapeError(
            f"max_pool2d: padding {a.padding} must be at most half of kernel {a.kernel}"
        )
    places = window_size("max_pool2d", image, a.kernel, a.stride, a.padding, a.dilation)
    if not all(map(_sees, image, places, a.kernel, a.stride, a.padding, a.dilation)):
        raise ShapeError(
            f"max_pool2d: with kernel {a.kernel}, padding {a.padding} and dilation {a.dilation} "
            f"a window on an image of {tuple(image)} sees nothing but padding"
        )
    return (n, c, *places), inputs[0].dtype


def _sees(size: int, places: int, kernel: int, stride: int, padding: int, dilation: int) -> bool:
    """Whether every window has an element of the image along one dimension."""
    if dilation == 1 or padding == 0:
        return True  # padding is at most half of the kernel
    starts = range(-padding, places * stride - padding, stride)
    return all(any(0 <= s + k * dilation < size for k in range(kernel)) for s in starts)


def _infer_input_grad(inputs: Sequence[Node], a: Window) -> Typed:
    g, x = inputs
    check_images("max_pool2d_input_grad", g, x)
    shape, _ = _infer_max_pool([x], a)
    if g.shape != shape:
        raise ShapeError(
            f"max_pool2d_input_grad: the gradient has shape {g.shape}, the windows of {x.shape} "
            f"give {shape}"
        )
    return x.shape, x.dtype


def _infer_unpool(inputs: Sequence[Node], a: Image) -> Typed:
    check_images("max_unpool2d", inputs[0])
    return (*inputs[0].shape[:2], *a.image), inputs[0].dtype


def _infer_avg_pool(inputs: Sequence[Node], a: AvgWindow) -> Typed:
    check_images("avg_pool2d", *inputs)
    n, c, *image = inputs[0].shape
    if any(2 * p > k for p, k in zip(a.padding, a.kernel, strict=True)):
        raise ShapeError(
            f"avg_pool2d: padding {a.padding} must be at most half of kernel {a.kernel}"
        )
    places = window_size("avg_pool2d", image, a.kernel, a.stride, a.padding, (1, 1))
    return (n, c, *places), inputs[0].dtype


register(
    OpSpec(
        "max_pool2d",
        Kind.POOL,
        Form.SELECT,
        1,
        FLOATS,
        _infer_max_pool,
        each(max_pool2d_gradient),
        "Largest of each window; NaN is the largest; the gradient goes to the first.",
        Window,
    )
)
register(
    OpSpec(
        "max_pool2d_indices",
        Kind.POOL,
        Form.SELECT,
        1,
        NUMBERS,
        lambda inputs, attrs: (_infer_max_pool(inputs, attrs)[0], int64),
        NotDifferentiable("its result is an index"),
        "Place y·W + x of the first largest of each window.",
        Window,
    )
)
register(
    OpSpec(
        "max_pool2d_input_grad",
        Kind.POOL,
        Form.SCATTER,
        2,
        FLOATS,
        _infer_input_grad,
        each(max_pool2d_input_grad_gradient, lambda n, g: const(n.inputs[1], 0)),
        "The gradient of max_pool2d's input: each window's added at its first largest element.",
        Window,
    )
)
register(
    OpSpec(
        "max_unpool2d",
        Kind.POOL,
        Form.SCATTER,
        2,
        FLOATS,
        _infer_unpool,
        each(max_unpool2d_gradient),
        "Window values added at their places in the image.",
        Image,
    )
)
register(
    OpSpec(
        "avg_pool2d",
        Kind.POOL,
        Form.WINDOW,
        1,
        FLOATS,
        _infer_avg_pool,
        each(avg_pool2d_gradient),
        "Mean of each window, padding counted as zeros.",
        AvgWindow,
    )
)

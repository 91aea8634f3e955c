"""Rows of the 2-D convolution family.

The three convolutions are closed under differentiation: each one's gradients are the other two.
"""

from __future__ import annotations

from collections.abc import Sequence

from vkml_core.dtypes import FLOATS
from vkml_core.errors import DTypeError, ShapeError
from vkml_core.graph import Node, build
from vkml_core.ops.rules import each
from vkml_core.ops.spec import Form, Kind, OpSpec, Typed, attributes, register
from vkml_core.shapes import check_shape, size

Pair = tuple[int, int]


@attributes
class Conv:
    """Geometry of conv2d."""

    stride: Pair
    padding: Pair
    dilation: Pair
    groups: int


@attributes
class ConvInputGrad:
    """Geometry of conv2d and the image size to give back."""

    image: Pair
    stride: Pair
    padding: Pair
    dilation: Pair
    groups: int


@attributes
class ConvWeightGrad:
    """Geometry of conv2d and the kernel size to give back."""

    kernel: Pair
    stride: Pair
    padding: Pair
    dilation: Pair
    groups: int


@attributes
class Window:
    """A sliding window."""

    kernel: Pair
    stride: Pair
    padding: Pair
    dilation: Pair


@attributes
class ImageWindow:
    """A sliding window over an image of a given size."""

    image: Pair
    kernel: Pair
    stride: Pair
    padding: Pair
    dilation: Pair


def window_size(
    op: str, image: Sequence[int], kernel: Pair, stride: Pair, padding: Pair, dilation: Pair
) -> Pair:
    """Count the window's positions: ⌊(size + 2·padding − dilation·(kernel − 1) − 1)/stride⌋ + 1."""
    if min(*kernel, *stride, *dilation) < 1 or min(padding) < 0:
        raise ShapeError(
            f"{op}: kernel {kernel}, stride {stride} and dilation {dilation} must be ≥ 1, "
            f"padding {padding} ≥ 0"
        )
    sizes = [
        (d + 2 * p - w * (k - 1) - 1) // s + 1
        for d, k, s, p, w in zip(image, kernel, stride, padding, dilation, strict=True)
    ]
    if min(sizes) < 1:
        raise ShapeError(
            f"{op}: a window of {kernel} with dilation {dilation} does not fit an image of "
            f"{tuple(image)} with padding {padding}"
        )
    return sizes[0], sizes[1]


def check_images(op: str, *inputs: Node) -> None:
    """Check that inputs are (N, C, H, W) and of one dtype."""
    for x in inputs:
        if len(x.shape) != 4:
            raise ShapeError(f"{op}: expected rank 4 (N, C, H, W), got shape {x.shape}")
        if x.dtype is not inputs[0].dtype:
            raise DTypeError(f"{op}: inputs are {inputs[0].dtype.name} and {x.dtype.name}")


def _infer_conv2d(inputs: Sequence[Node], a: Conv) -> Typed:
    check_images("conv2d", *inputs)
    x, w = inputs[0].shape, inputs[1].shape
    if a.groups < 1 or w[0] % a.groups or x[1] != w[1] * a.groups:
        raise ShapeError(
            f"conv2d: input {x} has {x[1]} channels, weight {w} with groups={a.groups} needs "
            f"{w[1] * a.groups} and a number of outputs divisible by groups"
        )
    places = window_size("conv2d", x[2:], (w[2], w[3]), a.stride, a.padding, a.dilation)
    return check_shape((x[0], w[0], *places), "conv2d"), inputs[0].dtype


def _infer_input_grad(inputs: Sequence[Node], a: ConvInputGrad) -> Typed:
    check_images("conv2d_input_grad", *inputs)
    g, w = inputs[0].shape, inputs[1].shape
    return (g[0], w[1] * a.groups, *a.image), inputs[0].dtype


def _infer_weight_grad(inputs: Sequence[Node], a: ConvWeightGrad) -> Typed:
    check_images("conv2d_weight_grad", *inputs)
    x, g = inputs[0].shape, inputs[1].shape
    return (g[1], x[1] // a.groups, *a.kernel), inputs[0].dtype


def _conv_input(node: Node, g: Node, w: Node, image: Sequence[int]) -> Node:
    a = node.attrs
    return build.conv2d_input_grad(
        g,
        w,
        image=tuple(image),
        stride=a.stride,
        padding=a.padding,
        dilation=a.dilation,
        groups=a.groups,
    )


def _conv_weight(node: Node, x: Node, g: Node, kernel: Sequence[int]) -> Node:
    a = node.attrs
    return build.conv2d_weight_grad(
        x,
        g,
        kernel=tuple(kernel),
        stride=a.stride,
        padding=a.padding,
        dilation=a.dilation,
        groups=a.groups,
    )


def _conv(node: Node, x: Node, w: Node) -> Node:
    a = node.attrs
    return build.conv2d(
        x, w, stride=a.stride, padding=a.padding, dilation=a.dilation, groups=a.groups
    )


register(
    OpSpec(
        "conv2d",
        Kind.CONV,
        Form.CONV,
        2,
        FLOATS,
        _infer_conv2d,
        each(
            lambda n, g: _conv_input(n, g, n.inputs[1], n.inputs[0].shape[2:]),
            lambda n, g: _conv_weight(n, n.inputs[0], g, n.inputs[1].shape[2:]),
        ),
        "Convolution of (N, C, H, W) with (O, C/groups, kh, kw): im2col, then matmul.",
        Conv,
    )
)
register(
    OpSpec(
        "conv2d_input_grad",
        Kind.CONV,
        Form.CONV,
        2,
        FLOATS,
        _infer_input_grad,
        each(
            lambda n, g: _conv(n, g, n.inputs[1]),
            lambda n, g: _conv_weight(n, g, n.inputs[0], n.inputs[1].shape[2:]),
        ),
        "The gradient of conv2d's input: col2im of (weightᵀ matmul gradient).",
        ConvInputGrad,
    )
)
register(
    OpSpec(
        "conv2d_weight_grad",
        Kind.CONV,
        Form.CONV,
        2,
        FLOATS,
        _infer_weight_grad,
        each(
            lambda n, g: _conv_input(n, n.inputs[1], g, n.inputs[0].shape[2:]),
            lambda n, g: _conv(n, n.inputs[0], g),
        ),
        "The gradient of conv2d's weight: gradient matmul im2colᵀ over (n, oy, ox).",
        ConvWeightGrad,
    )
)


def _infer_im2col(inputs: Sequence[Node], a: Window) -> Typed:
    check_images("im2col", *inputs)
    n, c, *image = inputs[0].shape
    places = window_size("im2col", image, a.kernel, a.stride, a.padding, a.dilation)
    return check_shape((n, c * size(a.kernel), size(places)), "im2col"), inputs[0].dtype


def _infer_col2im(inputs: Sequence[Node], a: ImageWindow) -> Typed:
    shape = inputs[0].shape
    places = window_size("col2im", a.image, a.kernel, a.stride, a.padding, a.dilation)
    if len(shape) != 3 or shape[1] % size(a.kernel) or shape[2] != size(places):
        raise ShapeError(
            f"col2im: columns of shape {shape}, expected (N, C·{size(a.kernel)}, {size(places)})"
        )
    return (shape[0], shape[1] // size(a.kernel), *a.image), inputs[0].dtype


def _im2col_gradient(node: Node, g: Node) -> Node:
    a, image = node.attrs, node.inputs[0].shape[2:]
    return build.col2im(
        g, image=image, kernel=a.kernel, stride=a.stride, padding=a.padding, dilation=a.dilation
    )


def _col2im_gradient(node: Node, g: Node) -> Node:
    a = node.attrs
    return build.im2col(g, kernel=a.kernel, stride=a.stride, padding=a.padding, dilation=a.dilation)


register(
    OpSpec(
        "im2col",
        Kind.CONV,
        Form.EXACT,
        1,
        FLOATS,
        _infer_im2col,
        each(_im2col_gradient),
        "Windows of (N, C, H, W) as columns (N, C·kh·kw, positions).",
        Window,
    )
)
register(
    OpSpec(
        "col2im",
        Kind.CONV,
        Form.WINDOW,
        1,
        FLOATS,
        _infer_col2im,
        each(_col2im_gradient),
        "Columns added back into (N, C, H, W), in (ky, kx) order.",
        ImageWindow,
    )
)

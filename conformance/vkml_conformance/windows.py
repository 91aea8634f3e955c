"""Shapes and attributes of convolutions and pools: strides, padding, dilation and groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from vkml_conformance.operands import Operand, index
from vkml_core.ops.conv import window_size
from vkml_core.ops.spec import OpSpec

Pair = tuple[int, int]
Called = tuple[Any, tuple[Operand, ...]]
Found = tuple[Any, tuple[Operand, ...], bool]
IMAGE: Final = (7, 6)
KERNEL: Final = (3, 2)


def _window(stride: Pair, padding: Pair, dilation: Pair) -> dict[str, Pair]:
    return {"stride": stride, "padding": padding, "dilation": dilation}


CONVOLUTIONS: Final = (
    (_window((1, 1), (0, 0), (1, 1)), 1),
    (_window((2, 3), (1, 0), (1, 1)), 1),
    (_window((1, 2), (2, 1), (2, 1)), 2),
    (_window((2, 1), (3, 4), (1, 3)), 4),
)
"""Windows of a kernel of 3 × 2, and groups; the first one with every layout and domain."""


class Size(NamedTuple):
    """Images of a batch, and channels."""

    batch: int
    inputs: int = 4
    outputs: int = 8


LARGE: Final = Size(8, 24, 32)
"""Enough of everything for kernels that compute results by tiles."""
POOLS: Final = (
    (KERNEL, _window((2, 1), (1, 1), (1, 1))),
    ((2, 2), _window((2, 2), (0, 0), (1, 1))),
    ((2, 3), _window((1, 2), (0, 1), (3, 2))),
)


def convolutions(spec: OpSpec) -> Iterator[Found]:
    """Give (attributes, operands, full) of a row of convolutions or of columns."""
    for number, (window, groups) in enumerate(CONVOLUTIONS):
        for batch in (2, 0) if number == 0 else (2,):
            attrs, operands = _OF_ROW[spec.name](spec, window, groups, Size(batch))
            yield attrs, operands, number == 0 and batch > 0


def large_convolutions(spec: OpSpec) -> Iterator[Found]:
    """Give (attributes, operands, full) of a large convolution, of images that are not square."""
    if spec.name in _OF_CHANNELS:
        yield *_OF_CHANNELS[spec.name](spec, _window((1, 1), (1, 0), (1, 1)), 1, LARGE), True


def _places(window: dict[str, Pair]) -> Pair:
    return window_size("conv2d", IMAGE, KERNEL, **window)


def _conv2d(spec: Any, window: Any, groups: int, size: Size) -> Called:
    n, inputs, outputs = size
    x, w = Operand((n, inputs, *IMAGE)), Operand((outputs, inputs // groups, *KERNEL))
    return spec.attrs(groups=groups, **window), (x, w)


def _input_grad(spec: Any, window: Any, groups: int, size: Size) -> Called:
    n, inputs, outputs = size
    g = Operand((n, outputs, *_places(window)))
    w = Operand((outputs, inputs // groups, *KERNEL))
    return spec.attrs(image=IMAGE, groups=groups, **window), (g, w)


def _weight_grad(spec: Any, window: Any, groups: int, size: Size) -> Called:
    n, inputs, outputs = size
    x, g = Operand((n, inputs, *IMAGE)), Operand((n, outputs, *_places(window)))
    return spec.attrs(kernel=KERNEL, groups=groups, **window), (x, g)


def _im2col(spec: Any, window: Any, groups: int, size: Size) -> Called:
    return spec.attrs(kernel=KERNEL, **window), (Operand((size.batch, size.inputs, *IMAGE)),)


def _col2im(spec: Any, window: Any, groups: int, size: Size) -> Called:
    rows, cols = _places(window)
    columns = size.batch, size.inputs * KERNEL[0] * KERNEL[1], rows * cols
    return spec.attrs(image=IMAGE, kernel=KERNEL, **window), (Operand(columns),)


_OF_CHANNELS: Final[dict[str, Callable[..., Called]]] = {
    "conv2d": _conv2d,
    "conv2d_input_grad": _input_grad,
    "conv2d_weight_grad": _weight_grad,
}
_OF_ROW: Final = {**_OF_CHANNELS, "im2col": _im2col, "col2im": _col2im}


def pools(spec: OpSpec) -> Iterator[Found]:
    """Give (attributes, operands, full) of a row of pools."""
    made: Any = spec.attrs
    if spec.name == "max_unpool2d":
        for shape, full in (((2, 3, 4, 5), True), ((0, 3, 4, 5), False), ((1, 1, 1, 1), False)):
            yield made(image=(2, 3)), (Operand(shape), Operand(shape, index(6))), full
        return
    for number, (kernel, window) in enumerate(POOLS):
        if spec.name == "avg_pool2d":
            window = {name: size for name, size in window.items() if name != "dilation"}
        for batch in (2, 0) if number == 0 else (2,):
            operands: tuple[Operand, ...] = (Operand((batch, 3, *IMAGE)),)
            if spec.name == "max_pool2d_input_grad":
                places = window_size("max_pool2d", IMAGE, kernel, **window)
                operands = (Operand((batch, 3, *places)), *operands)
            yield made(kernel=kernel, **window), operands, number == 0 and batch > 0

"""The oracle's table: every row of the registry with the function that computes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vkml_backend_cpu import convert, elementwise
from vkml_backend_cpu.elementary import ELEMENTARY, pow
from vkml_backend_cpu.kernels import conv, indexing, matmul, movement, pool, random, reduce

Array = npt.NDArray[Any]
Kernel = Callable[..., Array]


def _power(attrs: Any, a: Array, b: Array) -> Array:
    return pow(a, b) if a.dtype.kind == "f" else elementwise.integer_power(a, b)


def _arange(attrs: Any, start: Array, step: Array) -> Array:
    numbers: Array = start + np.arange(attrs.length, dtype=np.int64) * step
    return numbers


def _where(attrs: Any, condition: Array, a: Array, b: Array) -> Array:
    return np.where(condition, a, b)


def _window(attrs: Any) -> tuple[Any, ...]:
    return attrs.kernel, attrs.stride, attrs.padding, attrs.dilation


def _geometry(attrs: Any) -> tuple[Any, ...]:
    return attrs.stride, attrs.padding, attrs.dilation, attrs.groups


OTHER: Final[dict[str, Kernel]] = {
    "pow": _power,
    "where": _where,
    "cast": lambda attrs, x: convert.cast(x, attrs.dtype.numpy),
    "sum": lambda attrs, x: reduce.sum(x, attrs.axes),
    "prod": lambda attrs, x: reduce.prod(x, attrs.axes),
    "amax": lambda attrs, x: reduce.amax(x, attrs.axes),
    "amin": lambda attrs, x: reduce.amin(x, attrs.axes),
    "argmax": lambda attrs, x: reduce.argmax(x, attrs.axis),
    "argmin": lambda attrs, x: reduce.argmin(x, attrs.axis),
    "cumsum": lambda attrs, x: reduce.cumsum(x, attrs.axis),
    "argsort": lambda attrs, x: reduce.argsort(x, attrs.axis, attrs.descending),
    "matmul": lambda attrs, a, b: matmul.matmul(a, b),
    "conv2d": lambda attrs, x, w: conv.conv2d(x, w, *_geometry(attrs)),
    "conv2d_input_grad": lambda attrs, g, w: conv.conv2d_input_grad(
        g, w, attrs.image, *_geometry(attrs)
    ),
    "conv2d_weight_grad": lambda attrs, x, g: conv.conv2d_weight_grad(
        x, g, attrs.kernel, *_geometry(attrs)
    ),
    "im2col": lambda attrs, x: conv.im2col(x, *_window(attrs)),
    "col2im": lambda attrs, x: conv.col2im(x, attrs.image, *_window(attrs)),
    "max_pool2d": lambda attrs, x: pool.max_pool2d(x, *_window(attrs)),
    "max_pool2d_indices": lambda attrs, x: pool.max_pool2d_indices(x, *_window(attrs)),
    "max_pool2d_input_grad": lambda attrs, g, x: pool.max_pool2d_input_grad(g, x, *_window(attrs)),
    "max_unpool2d": lambda attrs, g, i: pool.max_unpool2d(g, i, attrs.image),
    "avg_pool2d": lambda attrs, x: pool.avg_pool2d(x, attrs.kernel, attrs.stride, attrs.padding),
    "gather": lambda attrs, x, i: indexing.gather(x, i, attrs.axis),
    "scatter_add": lambda attrs, x, i: indexing.scatter_add(x, i, attrs.axis, attrs.size),
    "arange": _arange,
    "random_bits": lambda attrs, seed, offset: random.random_bits(
        int(seed), int(offset), attrs.shape, attrs.bits
    ),
    "contiguous": lambda attrs, x: np.array(x, order="C"),
    "cat": lambda attrs, *xs: movement.cat(xs, attrs.axis),
    "pad": lambda attrs, x, v: movement.pad(x, attrs.low, attrs.high, attrs.interior, v[()]),
}


def _one(function: Callable[[Array], Array]) -> Kernel:
    return lambda attrs, x: function(x)


def _two(function: Callable[[Array, Array], Array]) -> Kernel:
    return lambda attrs, a, b: function(a, b)


TABLE: Final[dict[str, Kernel]] = {
    **{name: _one(f) for name, f in (elementwise.UNARY | ELEMENTARY).items()},
    **{name: _two(f) for name, f in elementwise.BINARY.items()},
    **OTHER,
}

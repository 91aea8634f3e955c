"""The rows that multiply matrices, all made of one product that may be a wrong one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from vkml_backend_cpu.kernels import conv, matmul
from vkml_core.backend import Array
from vkml_core.stepwise import Kernel

Product = Callable[[Array, Array], Array]
Step = Callable[[Array, Array, Array], Array]
"""(accumulator, column of a, row of b) → accumulator."""
Combine = Callable[[Sequence[Array], Array], Array]
"""(results of the chunks, zeros) → their sum."""


def rounded(acc: Array, left: Array, right: Array) -> Array:
    """Multiply, then add: the contract's step."""
    return acc + left * right


def in_order(parts: Sequence[Array], zeros: Array) -> Array:
    """Add the results of the chunks in order: the contract's combination."""
    return sum(parts, zeros)


def product(
    a: Array, b: Array, step: Step = rounded, combine: Combine = in_order, chunk: int = matmul.CHUNK
) -> Array:
    """Multiply (…, M, K) by (…, K, N) as rule 19 says, but for a step or a combination."""
    k = a.shape[-1]
    zeros = np.zeros((*a.shape[:-1], b.shape[-1]), a.dtype)
    parts = []
    for start in range(0, k, chunk):
        acc = zeros
        for i in range(start, min(k, start + chunk)):
            acc = step(acc, a[..., i, None], b[..., i, None, :])
        parts.append(acc)
    return np.asarray(combine(parts, zeros))


def products(multiply: Product) -> dict[str, Kernel]:
    """Give matmul and the convolutions (rule 20), made of one product for floats."""

    def checked(a: Array, b: Array) -> Array:
        return multiply(a, b) if a.dtype.kind == "f" else matmul.matmul(a, b)

    def conv2d(attrs: Any, x: Array, w: Array) -> Array:
        columns, left = _columns(attrs, x, w.shape[2:]), _by_group(w, attrs.groups)
        size = conv.places(x.shape[2:], w.shape[2:], attrs.stride, attrs.padding, attrs.dilation)
        out = checked(left, columns).reshape((w.shape[0], x.shape[0], *size))
        return out.transpose(1, 0, 2, 3)

    def input_grad(attrs: Any, g: Array, w: Array) -> Array:
        grad = _by_group(g.transpose(1, 0, 2, 3), attrs.groups)
        columns = checked(_by_group(w, attrs.groups).transpose(0, 2, 1), grad)
        places = g.shape[2] * g.shape[3]
        back = columns.reshape((columns.shape[0] * columns.shape[1], g.shape[0], places))
        return conv.col2im(back.transpose(1, 0, 2), attrs.image, w.shape[2:], *_window(attrs))

    def weight_grad(attrs: Any, x: Array, g: Array) -> Array:
        grad = _by_group(g.transpose(1, 0, 2, 3), attrs.groups)
        out = checked(grad, _columns(attrs, x, attrs.kernel).transpose(0, 2, 1))
        return out.reshape((g.shape[1], x.shape[1] // attrs.groups, *attrs.kernel))

    return {
        "matmul": lambda attrs, a, b: checked(a, b),
        "conv2d": conv2d,
        "conv2d_input_grad": input_grad,
        "conv2d_weight_grad": weight_grad,
    }


def _window(attrs: Any) -> tuple[Any, ...]:
    return attrs.stride, attrs.padding, attrs.dilation


def _columns(attrs: Any, x: Array, kernel: Sequence[int]) -> Array:
    """Give the windows as (groups, C/groups·kh·kw, N·oh·ow)."""
    columns = conv.im2col(x, kernel, *_window(attrs))
    n, rows, places = columns.shape
    return columns.transpose(1, 0, 2).reshape((attrs.groups, rows // attrs.groups, n * places))


def _by_group(x: Array, groups: int) -> Array:
    """Bring (O, …) to (groups, O/groups, …), the rest in one axis."""
    return x.reshape((groups, x.shape[0] // groups, int(np.prod(x.shape[1:]))))

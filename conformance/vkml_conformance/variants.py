"""Oracles with one fault each: what a wrong result is compared with to guess its cause."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

import vkml
from vkml_backend_cpu.backend import backend as oracle
from vkml_backend_cpu.kernels import conv
from vkml_backend_cpu.kernels.windows import places
from vkml_backend_cpu.table import TABLE
from vkml_conformance.check import Subject
from vkml_conformance.values import Array
from vkml_core import plugins
from vkml_core.stepwise import Kernel
from vkml_core.table_backend import table_backend

NAME: Final = "variant"
Rows = Mapping[str, Kernel]
Product = Callable[[Array, Array], Array]
"""(…, M, K) by (…, K, N)."""


def compute(rows: Rows, subject: Subject, leaves: Sequence[Array]) -> list[Array]:
    """Give the results of a subject on an oracle whose table has other kernels for some rows.

    Raises whatever recording or computing raises.
    """
    table = {**TABLE, **rows}
    made: Any = table_backend(NAME, table, api_version=(1, 0), conversions=oracle.conversions)
    plugins.register_backend(made)
    try:
        with vkml.eager_mode(False):
            results = subject.record([vkml.tensor(x, device=NAME) for x in leaves])
            vkml.realize(*results)
            return [r.numpy() for r in results]
    finally:
        plugins.unregister_backend(NAME)


def floats_only(name: str, kernel: Kernel) -> Kernel:
    """Take the oracle's kernel for everything but floats."""
    usual = TABLE[name]

    def chosen(attrs: Any, x: Array, *others: Array) -> Array:
        return (kernel if x.dtype.kind == "f" else usual)(attrs, x, *others)

    return chosen


def products(product: Product) -> Rows:
    """Give the rows that are made of a matrix product, made of this one."""

    def conv2d(a: Any, x: Array, w: Array) -> Array:
        size = places(x.shape[2:], w.shape[2:], a.stride, a.padding, a.dilation)
        out = product(_weights(a, w), _columns(a, x, w.shape[2:]))
        return out.reshape((x.shape[0], w.shape[0], *size))

    def input_grad(a: Any, g: Array, w: Array) -> Array:
        cols = product(_weights(a, w).swapaxes(-1, -2), _outputs(a, g))
        flat = cols.reshape((g.shape[0], a.groups * cols.shape[2], cols.shape[3]))
        return conv.col2im(flat, a.image, w.shape[2:], a.stride, a.padding, a.dilation)

    def weight_grad(a: Any, x: Array, g: Array) -> Array:
        cols, outputs = _columns(a, x, a.kernel), _outputs(a, g)
        right = np.moveaxis(cols, 0, 1).swapaxes(1, 2)
        left = np.moveaxis(outputs, 0, 2)
        n, k = right.shape[0], right.shape[2] * right.shape[3]
        right = right.reshape((n, right.shape[1], k)).swapaxes(1, 2)
        out = product(left.reshape((n, left.shape[1], k)), right)
        return out.reshape((g.shape[1], x.shape[1] // a.groups, *a.kernel))

    found: dict[str, Kernel] = {
        "matmul": lambda attrs, a, b: product(a, b),
        "conv2d": conv2d,
        "conv2d_input_grad": input_grad,
        "conv2d_weight_grad": weight_grad,
    }
    return {name: floats_only(name, kernel) for name, kernel in found.items()}


def _weights(a: Any, w: Array) -> Array:
    """(O, C, kh, kw) → (1, groups, O/groups, C·kh·kw)."""
    return w.reshape((1, a.groups, w.shape[0] // a.groups, math.prod(w.shape[1:])))


def _columns(a: Any, x: Array, kernel: Sequence[int]) -> Array:
    """Give the windows as (N, groups, C·kh·kw, places)."""
    cols = conv.im2col(x, kernel, a.stride, a.padding, a.dilation)
    return cols.reshape((cols.shape[0], a.groups, cols.shape[1] // a.groups, cols.shape[2]))


def _outputs(a: Any, g: Array) -> Array:
    """(N, O, oh, ow) → (N, groups, O/groups, places)."""
    return g.reshape((g.shape[0], a.groups, g.shape[1] // a.groups, math.prod(g.shape[2:])))


def flushing(*, operands: bool, results: bool) -> Rows:
    """Give all rows, taking subnormal float32 for zeros: operands, results or both."""

    def around(usual: Kernel) -> Kernel:
        def kernel(attrs: Any, *arrays: Array) -> Array:
            given = [_flushed(x) for x in arrays] if operands else arrays
            found = usual(attrs, *given)
            return _flushed(found) if results else found

        return kernel

    return {name: around(usual) for name, usual in TABLE.items()}


def _flushed(x: Array) -> Array:
    if x.dtype != np.float32:
        return x
    return np.where(np.abs(x) < np.finfo(np.float32).tiny, np.copysign(np.float32(0), x), x)

"""Evaluates a graph in float64 NumPy, straight from the rows' names and attributes.

It shares no code with any backend, and does not round to float32, so that the mathematics of a
gradient rule can be compared with finite differences to many digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vkml_core.graph import Node, reachable
from vkml_core.tensor import Tensor

from .windows import WINDOWS

Array = npt.NDArray[Any]
Kernel = Callable[..., Array]
Pair = tuple[int, int]

_TYPES: Final = {"float": np.float64, "int": np.int64, "bool": np.bool_}


def evaluate(roots: Sequence[Node], leaves: Mapping[int, Array]) -> list[Array]:
    """Give the values of `roots`; `leaves` maps serials of nodes to values that replace theirs."""
    values: dict[int, Array] = {}
    with np.errstate(all="ignore"):
        for node in reachable(roots, lambda n: () if n.serial in leaves else n.inputs):
            values[node.serial] = _value(node, values, leaves)
    return [values[r.serial] for r in roots]


def _value(node: Node, values: Mapping[int, Array], leaves: Mapping[int, Array]) -> Array:
    if node.serial in leaves:
        value = leaves[node.serial]
    elif node.op.name == "data":
        value = Tensor(node).numpy()
    elif node.op.name == "full":
        value = np.full(node.shape, node.value)
    else:
        value = KERNELS[node.op.name](node.attrs, *(values[i.serial] for i in node.inputs))
    assert value.shape == node.shape, node
    return np.asarray(value, _TYPES[node.dtype.category])


def _slice(a: Any, x: Array) -> Array:
    for axis, (start, n, step) in enumerate(zip(a.start, a.length, a.step, strict=True)):
        x = np.take(x, start + step * np.arange(n), axis)
    return x


def _pad(a: Any, x: Array, value: Array) -> Array:
    dims = list(zip(x.shape, a.low, a.high, a.interior, strict=True))
    out = np.full([lo + d + max(d - 1, 0) * i + hi for d, lo, hi, i in dims], value, x.dtype)
    out[np.ix_(*(lo + np.arange(d) * (i + 1) for d, lo, _, i in dims))] = x
    return out


def _cast(a: Any, x: Array) -> Array:
    return x != 0 if a.dtype.category == "bool" else np.trunc(x) if a.dtype.category == "int" else x


def _argsort(a: Any, x: Array) -> Array:
    if not a.descending:
        return np.argsort(x, a.axis, kind="stable")
    mirrored = np.argsort(np.flip(x, a.axis), a.axis, kind="stable")
    return np.asarray(x.shape[a.axis] - 1 - np.flip(mirrored, a.axis))


def _scatter_add(a: Any, src: Array, index: Array) -> Array:
    out = np.zeros([a.size if i == a.axis else d for i, d in enumerate(src.shape)])
    places = list(np.indices(src.shape))
    places[a.axis] = index
    np.add.at(out, tuple(places), src)
    return out


def _random_bits(a: Any, seed: Array, offset: Array) -> Array:
    """Philox4x32-10 of Salmon et al. (2011), in Python integers."""
    low, n = 0xFFFFFFFF, math.prod(a.shape)
    words: list[int] = []
    for block in range(-(-n // 4)):
        c = [block & low, block >> 32, int(offset) & low, int(offset) >> 32 & low]
        k = [int(seed) & low, int(seed) >> 32 & low]
        for _ in range(10):
            p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
            c = [q >> 32 ^ c[1] ^ k[0], q & low, p >> 32 ^ c[3] ^ k[1], p & low]
            k = [k[0] + 0x9E3779B9 & low, k[1] + 0xBB67AE85 & low]
        words += c
    return np.array([w >> 32 - a.bits for w in words[:n]], np.int64).reshape(a.shape)


_UFUNCS: Final[dict[str, Kernel]] = {
    "neg": np.negative,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "round": np.rint,
    "trunc": np.trunc,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "reciprocal": lambda x: 1 / x,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "erf": np.vectorize(math.erf, otypes=[np.float64]),
    "erfc": np.vectorize(math.erfc, otypes=[np.float64]),
    "relu": lambda x: np.maximum(x, 0),
    "sign": lambda x: np.where(np.isnan(x), 0, np.sign(x)),
    "isnan": np.isnan,
    "isinf": np.isinf,
    "bitwise_not": np.invert,
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "pow": np.power,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "floor_divide": np.floor_divide,
    "remainder": np.remainder,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
    "where": np.where,
    "matmul": np.matmul,
    "assign": lambda old, new: new,
}


def _ufunc(function: Kernel) -> Kernel:
    return lambda a, *arrays: np.asarray(function(*arrays))


KERNELS: Final[dict[str, Kernel]] = {name: _ufunc(f) for name, f in _UFUNCS.items()} | {
    "detach": lambda a, x: x,
    "contiguous": lambda a, x: x,
    "cast": _cast,
    "reshape": lambda a, x: np.reshape(x, a.shape),
    "permute": lambda a, x: np.transpose(x, a.axes),
    "expand": lambda a, x: np.broadcast_to(x, a.shape),
    "slice": _slice,
    "pad": _pad,
    "cat": lambda a, *xs: np.concatenate(xs, a.axis),
    "sum": lambda a, x: np.sum(x, axis=a.axes),
    "prod": lambda a, x: np.prod(x, axis=a.axes),
    "amax": lambda a, x: np.max(x, axis=a.axes),
    "amin": lambda a, x: np.min(x, axis=a.axes),
    "argmax": lambda a, x: np.argmax(x, a.axis),
    "argmin": lambda a, x: np.argmin(x, a.axis),
    "cumsum": lambda a, x: np.cumsum(x, a.axis),
    "argsort": _argsort,
    "gather": lambda a, x, index: np.take_along_axis(x, index, a.axis),
    "scatter_add": _scatter_add,
    **WINDOWS,
    "arange": lambda a, first, step: first + step * np.arange(a.length),
    "random_bits": _random_bits,
}

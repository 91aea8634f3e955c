"""Evaluates a graph in float64 NumPy, straight from the rows' names and attributes.

It shares no code with any backend, and does not round to float32, so that the mathematics of a
gradient rule can be compared with finite differences to many digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from vkml_core.graph import Node, reachable
from vkml_core.tensor import Tensor

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
    return x.shape[a.axis] - 1 - np.flip(mirrored, a.axis)


def _scatter_add(a: Any, src: Array, index: Array) -> Array:
    out = np.zeros([a.size if i == a.axis else d for i, d in enumerate(src.shape)])
    places = list(np.indices(src.shape))
    places[a.axis] = index
    np.add.at(out, tuple(places), src)
    return out


def _places(image: Sequence[int], a: Any, kernel: Pair) -> Pair:
    """Count the positions of a window."""
    dilation = getattr(a, "dilation", (1, 1))
    y, x = (
        (d + 2 * p - w * (k - 1) - 1) // s + 1
        for d, k, s, p, w in zip(image, kernel, a.stride, a.padding, dilation, strict=True)
    )
    return y, x


def _taps(a: Any, kernel: Pair, places: Pair) -> Iterator[tuple[int, int, Array, Array]]:
    """Give each tap of a window with the padded rows and columns that it meets."""
    dilation = getattr(a, "dilation", (1, 1))
    for ky in range(kernel[0]):
        for kx in range(kernel[1]):
            rows = ky * dilation[0] + a.stride[0] * np.arange(places[0])
            cols = kx * dilation[1] + a.stride[1] * np.arange(places[1])
            yield ky, kx, rows[:, None], cols[None, :]


def _padded(x: Array, padding: Pair, value: float = 0.0) -> Array:
    (py, px) = padding
    return np.pad(x, ((0, 0), (0, 0), (py, py), (px, px)), constant_values=value)


def _cropped(x: Array, padding: Pair, image: Pair) -> Array:
    (py, px), (h, w) = padding, image
    return x[:, :, py : py + h, px : px + w]


def _blank(n: int, c: int, image: Pair, padding: Pair) -> Array:
    return np.zeros((n, c, image[0] + 2 * padding[0], image[1] + 2 * padding[1]))


def _groups(channels: int, groups: int) -> list[slice]:
    each = channels // groups
    return [slice(i * each, (i + 1) * each) for i in range(groups)]


def _conv2d(a: Any, x: Array, w: Array) -> Array:
    kernel = w.shape[2:]
    places = _places(x.shape[2:], a, kernel)
    out, image = np.zeros((x.shape[0], w.shape[0], *places)), _padded(x, a.padding)
    for i, o in zip(_groups(x.shape[1], a.groups), _groups(w.shape[0], a.groups), strict=True):
        for ky, kx, rows, cols in _taps(a, kernel, places):
            out[:, o] += np.einsum("ncyx,oc->noyx", image[:, i][:, :, rows, cols], w[o, :, ky, kx])
    return out


def _conv2d_input_grad(a: Any, g: Array, w: Array) -> Array:
    channels, kernel = w.shape[1] * a.groups, w.shape[2:]
    image = _blank(g.shape[0], channels, a.image, a.padding)
    for i, o in zip(_groups(channels, a.groups), _groups(w.shape[0], a.groups), strict=True):
        for ky, kx, rows, cols in _taps(a, kernel, g.shape[2:]):
            image[:, i, rows, cols] += np.einsum("noyx,oc->ncyx", g[:, o], w[o, :, ky, kx])
    return _cropped(image, a.padding, a.image)


def _conv2d_weight_grad(a: Any, x: Array, g: Array) -> Array:
    out = np.zeros((g.shape[1], x.shape[1] // a.groups, *a.kernel))
    image = _padded(x, a.padding)
    for i, o in zip(_groups(x.shape[1], a.groups), _groups(g.shape[1], a.groups), strict=True):
        for ky, kx, rows, cols in _taps(a, a.kernel, g.shape[2:]):
            seen = image[:, i][:, :, rows, cols]
            out[o, :, ky, kx] = np.einsum("ncyx,noyx->oc", seen, g[:, o])
    return out


def _windows(a: Any, x: Array, fill: float = 0.0) -> Array:
    """Give (N, C, taps, oy, ox)."""
    image, places = _padded(x, a.padding, fill), _places(x.shape[2:], a, a.kernel)
    return np.stack([image[:, :, r, c] for _, _, r, c in _taps(a, a.kernel, places)], 2)


def _im2col(a: Any, x: Array) -> Array:
    seen = _windows(a, x)
    n, c, taps, h, w = seen.shape
    return seen.reshape(n, c * taps, h * w)


def _col2im(a: Any, cols: Array) -> Array:
    taps, places = a.kernel[0] * a.kernel[1], _places(a.image, a, a.kernel)
    n, c = cols.shape[0], cols.shape[1] // taps
    seen, image = cols.reshape(n, c, taps, *places), _blank(n, c, a.image, a.padding)
    for ky, kx, rows, columns in _taps(a, a.kernel, places):
        image[:, :, rows, columns] += seen[:, :, ky * a.kernel[1] + kx]
    return _cropped(image, a.padding, a.image)


def _max_pool2d_indices(a: Any, x: Array) -> Array:
    h, w = x.shape[2:]
    best = np.argmax(_windows(a, x, -math.inf), 2)
    number = np.arange(h * w, dtype=np.float64).reshape(1, 1, h, w)
    numbers = np.broadcast_to(_windows(a, number), (*x.shape[:2], *_windows(a, number).shape[2:]))
    return np.take_along_axis(numbers, best[:, :, None], 2)[:, :, 0]


def _max_unpool2d(a: Any, x: Array, index: Array) -> Array:
    (n, c), (h, w) = x.shape[:2], a.image
    out = np.zeros((n, c, h * w))
    batch, channel = np.ogrid[:n, :c]
    np.add.at(
        out, (batch[..., None], channel[..., None], index.reshape(n, c, -1)), x.reshape(n, c, -1)
    )
    return out.reshape(n, c, h, w)


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
    "conv2d": _conv2d,
    "conv2d_input_grad": _conv2d_input_grad,
    "conv2d_weight_grad": _conv2d_weight_grad,
    "im2col": _im2col,
    "col2im": _col2im,
    "max_pool2d": lambda a, x: np.max(_windows(a, x, -math.inf), 2),
    "max_pool2d_indices": _max_pool2d_indices,
    "max_unpool2d": _max_unpool2d,
    "avg_pool2d": lambda a, x: np.mean(_windows(a, x), 2),
    "arange": lambda a, first, step: first + step * np.arange(a.length),
    "random_bits": _random_bits,
}

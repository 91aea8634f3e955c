"""Reductions, scans and the matrix product by scalars, from rules 11 and 16 to 22."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from . import ieee
from .reference_elementwise import wrap
from .values import Array

ZERO: Final = np.float32(0)
Values = Sequence[Any]
Index = tuple[int, ...]


def places(shape: Sequence[int]) -> Iterator[Index]:
    """Give the indices of a shape in row-major order."""
    return itertools.product(*map(range, shape))


def pieces(values: Values, size: int) -> Iterable[Values]:
    return (values[i : i + size] for i in range(0, len(values), size))


def lanes(values: Values) -> np.float32:
    """Sum at most 1024 floats: 32 lanes in order, folded by halves."""
    lane = [ZERO] * 32
    for i, v in enumerate(values):
        lane[i % 32] = lane[i % 32] + v
    while len(lane) > 1:
        half = len(lane) // 2
        lane = [lane[i] + lane[i + half] for i in range(half)]
    return lane[0]


def float_sum(values: Values) -> np.float32:
    if len(values) <= 1024:
        return lanes(values)
    return float_sum([lanes(chunk) for chunk in pieces(values, 1024)])


def float_prod(values: Values) -> Any:
    if len(values) <= 1:
        return values[0] if len(values) else np.float32(1)
    pairs = itertools.zip_longest(values[0::2], values[1::2], fillvalue=np.float32(1))
    return float_prod([a * b for a, b in pairs])


def float_cumsum(values: Values) -> list[Any]:
    out, before = [], ZERO
    for chunk in pieces(values, 1024):
        inside = ZERO
        for v in chunk:
            inside = inside + v
            out.append(before + inside)
        before = before + inside
    return out


def dot(a: Values, b: Values) -> np.float32:
    """Multiply and add over k in chunks of 512."""
    total = ZERO
    for left, right in zip(pieces(a, 512), pieces(b, 512), strict=True):
        inside = ZERO
        for x, y in zip(left, right, strict=True):
            inside = inside + x * y
        total = total + inside
    return total


def product(a: Values, b: Values) -> Any:
    """Give the scalar product of one row and one column of any dtype."""
    if len(a) == 0 or a[0].dtype.kind == "f":
        return dot(a, b)
    exact = sum(int(x) * int(y) for x, y in zip(a, b, strict=True))
    return wrap(exact, a[0].dtype)


def _lines(x: Array, axes: Sequence[int]) -> Iterator[tuple[Index, Values]]:
    """Give, for each index of the axes that stay, the elements over `axes`, row-major."""
    kept = [a for a in range(x.ndim) if a not in axes]
    for outer in places([x.shape[a] for a in kept]):
        spot = dict(zip(kept, outer, strict=True))
        inner = (dict(zip(axes, i, strict=True)) for i in places([x.shape[a] for a in axes]))
        yield outer, [x[tuple((spot | i)[a] for a in range(x.ndim))] for i in inner]


def _reduction(floats: Callable[[Values], Any], integers: Callable[[Values], int]) -> Any:
    def reduce(attrs: Any, x: Array) -> Array:
        out = np.empty([d for a, d in enumerate(x.shape) if a not in attrs.axes], x.dtype)
        for index, line in _lines(x, attrs.axes):
            exact = x.dtype.kind == "f"
            out[index] = floats(line) if exact else wrap(integers(list(map(int, line))), x.dtype)
        return out

    return reduce


def _extreme(pick: Callable[[float, float], float], whole: Callable[[Values], int]) -> Any:
    numbers = _reduction(lambda line: functools.reduce(pick, map(float, line)), whole)

    def reduce(attrs: Any, x: Array) -> Array:
        if x.dtype == np.bool_:
            return np.asarray(numbers(attrs, x.astype(np.int32)) == 1)
        return np.asarray(numbers(attrs, x))

    return reduce


def _place(line: Values, largest: bool) -> int:
    best = 0
    for i, v in enumerate(map(_plain, line)):
        now = _plain(line[best])
        if now != now:
            break
        if v != v or (v > now if largest else v < now):
            best = i
    return best


def _plain(value: Any) -> Any:
    return value.item()


def _arg(largest: bool) -> Any:
    def reduce(attrs: Any, x: Array) -> Array:
        out = np.empty([d for a, d in enumerate(x.shape) if a != attrs.axis], np.int64)
        for index, line in _lines(x, (attrs.axis,)):
            out[index] = _place(line, largest)
        return out

    return reduce


def _scan(attrs: Any, x: Array, line_of: Callable[[Values], Values], dtype: Any) -> Array:
    out = np.empty(x.shape, dtype)
    for index, line in _lines(x, (attrs.axis,)):
        spot: Any = (*index[: attrs.axis], slice(None), *index[attrs.axis :])
        out[spot] = line_of(line)
    return out


def _cumsum(attrs: Any, x: Array) -> Array:
    def integers(line: Values) -> Values:
        return [wrap(v, x.dtype) for v in itertools.accumulate(map(int, line))]

    return _scan(attrs, x, float_cumsum if x.dtype.kind == "f" else integers, x.dtype)


def _argsort(attrs: Any, x: Array) -> Array:
    def order(line: Values) -> Values:
        plain = list(map(_plain, line))
        keys = [(v != v, 0 if v != v else v) for v in plain]
        return sorted(range(len(line)), key=keys.__getitem__, reverse=attrs.descending)

    return _scan(attrs, x, order, np.int64)


def _matmul(attrs: Any, a: Array, b: Array) -> Array:
    out = np.empty((*a.shape[:-1], b.shape[-1]), a.dtype)
    for *batch, row, col in places(out.shape):
        line: Any = (*batch, slice(None), col)
        out[(*batch, row, col)] = product(list(a[(*batch, row)]), list(b[line]))
    return out


REFERENCE: Final[dict[str, Callable[..., Array]]] = {
    "sum": _reduction(float_sum, sum),
    "prod": _reduction(float_prod, math.prod),
    "amax": _extreme(ieee.maximum, max),
    "amin": _extreme(ieee.minimum, min),
    "argmax": _arg(True),
    "argmin": _arg(False),
    "cumsum": _cumsum,
    "argsort": _argsort,
    "matmul": _matmul,
}

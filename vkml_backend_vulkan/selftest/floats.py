"""References of the float forms: what each gives in binary32, one rounding for each operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from vkml_backend_vulkan.selftest.operands import is_tiny
from vkml_backend_vulkan.selftest.probe import Words

Floats = np.ndarray[Any, np.dtype[np.float32]]
NAN: Final = 0x7FC00000


class Steps:
    """float32 arithmetic of NumPy that notes in which elements a subnormal number took part."""

    def __init__(self, count: int) -> None:
        self.tiny = np.zeros(count, np.bool_)

    def add(self, a: Floats, b: Floats) -> Floats:
        """Add."""
        return self.note(a + b)

    def sub(self, a: Floats, b: Floats) -> Floats:
        """Subtract."""
        return self.note(a - b)

    def mul(self, a: Floats, b: Floats) -> Floats:
        """Multiply."""
        return self.note(a * b)

    def note(self, value: Floats) -> Floats:
        """Look at a value on its way."""
        self.tiny |= is_tiny(value.view(np.uint32))
        return value


Reference = Callable[[Steps, Words], list[Floats]]
"""Gives up to four results for rows of four words."""


def _f(x: Words, column: int) -> Floats:
    return np.ascontiguousarray(x[:, column]).view(np.float32)


def _product_sum(s: Steps, x: Words) -> list[Floats]:
    return [s.add(s.mul(_f(x, 0), _f(x, 1)), _f(x, 2))]


def _sum_of_products(s: Steps, x: Words) -> list[Floats]:
    total = _f(x, 2)
    for i in range(7):
        factor = s.note((x[:, 0] ^ np.uint32(i)).view(np.float32))
        total = np.where(i < (x[:, 3] & 7), s.add(total, s.mul(factor, _f(x, 1))), total)
    return [total]


def _vector_products(s: Steps, x: Words) -> list[Floats]:
    v = [_f(x, k) for k in range(4)]
    sums = [v[(k + 1) % 4] for k in range(4)]
    for i in range(2):
        sums = [s.add(t, s.mul(v[i], v[3 - k])) for k, t in enumerate(sums)]
    return sums


def _two_sum(s: Steps, x: Words) -> list[Floats]:
    a, b = _f(x, 0), _f(x, 1)
    total = s.add(a, b)
    back = s.sub(total, a)
    return [total, s.add(s.sub(a, s.sub(total, back)), s.sub(b, back))]


def _split(s: Steps, x: Floats) -> tuple[Floats, Floats]:
    high = (x.view(np.uint32) & np.uint32(0xFFFFF000)).view(np.float32)
    return high, s.sub(x, high)


def _two_product(s: Steps, x: Words) -> list[Floats]:
    a, b = _f(x, 0), _f(x, 1)
    (ah, al), (bh, bl) = _split(s, a), _split(s, b)
    product = s.mul(a, b)
    lost = s.sub(s.mul(ah, bh), product)
    for left, right in ((ah, bl), (al, bh), (al, bl)):
        lost = s.add(lost, s.mul(left, right))
    return [product, lost]


def _regrouped(s: Steps, x: Words) -> list[Floats]:
    a, b, c = (_f(x, k) for k in range(3))
    total, product = s.add(a, b), s.mul(a, b)
    return [s.sub(total, a), s.add(total, c), s.add(product, s.mul(a, c)), s.sub(product, c)]


def _sum_from_zero(s: Steps, x: Words) -> list[Floats]:
    total = np.zeros(len(x), np.float32)
    for k in range(4):
        total = np.where(k <= (x[:, 3] & 3), s.add(total, _f(x, k)), total)
    return [total]


FLOATS: Final[dict[str, Reference]] = {
    "add": lambda s, x: [s.add(_f(x, 0), _f(x, 1))],
    "sub": lambda s, x: [s.sub(_f(x, 0), _f(x, 1))],
    "mul": lambda s, x: [s.mul(_f(x, 0), _f(x, 1))],
    "product_sum": _product_sum,
    "sum_of_products": _sum_of_products,
    "vector_products": _vector_products,
    "two_sum": _two_sum,
    "two_product": _two_product,
    "regrouped": _regrouped,
    "sum_from_zero": _sum_from_zero,
}


def wanted(reference: Reference, x: Words) -> tuple[Words, np.ndarray[Any, np.dtype[np.bool_]]]:
    """Give the rows of words that a form gives, and which rows a subnormal number took part in."""
    steps = Steps(len(x))
    for column in range(4):
        steps.note(_f(x, column))
    result = np.zeros_like(x)
    with np.errstate(all="ignore"):
        for k, value in enumerate(reference(steps, x)):
            bits = value.astype(np.float32, copy=False).view(np.uint32)
            result[:, k] = np.where(np.isnan(value), np.uint32(NAN), bits)
    return result, steps.tiny

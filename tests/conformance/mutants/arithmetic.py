"""Rounding that goes wrong: contraction, subnormals, quotients, float16."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

import numpy as np

from mutants.base import CONVERSIONS, Altered
from mutants.products import product, products, rounded
from vkml_backend_cpu import convert
from vkml_backend_cpu.table import TABLE
from vkml_core.backend import Array
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Call, Plan
from vkml_core.stepwise import Kernel, StepwiseDevice, StepwiseExecutable


def fma(x: Array, y: Array, z: Array) -> Array:
    """Give x·y + z of float32 rounded once.

    float64 holds the product. The sum is rounded to odd, so that rounding it again is harmless.
    """
    exact = x.astype(np.float64) * y
    total = np.asarray(exact + z)
    back = total - exact
    lost = (exact - (total - back)) + (z - back)
    even = np.isfinite(lost) & (lost != 0) & (total.view(np.int64) & 1 == 0)
    toward = np.where((lost > 0) == (total > 0), 1, -1)
    word = total.view(np.int64) + np.where(even, toward, 0)
    single: Array = word.view(np.float64).astype(np.float32)
    return single


def _fused_step(acc: Array, left: Array, right: Array) -> Array:
    return fma(left, right, acc)


def fused_product(a: Array, b: Array) -> Array:
    """Every multiplication and addition of a product is one instruction.

    A shader compiler contracts them unless it is told not to.
    """
    return product(a, b, _fused_step)


UNROLLED: Final = 8
"""Loops of no more turns are unrolled."""


def fused_in_loops(attrs: Any, a: Array, b: Array) -> Array:
    """The compiler contracts in loops and leaves straight-line code alone, and so short loops."""
    long = a.shape[-1] > UNROLLED and a.dtype == np.float32
    return product(a, b, _fused_step if long else rounded)


class Contracting(StepwiseExecutable):
    """A fused kernel adds a product that was made in it without rounding the product.

    A generator of fused shaders that leaves out `precise`.
    """

    def __init__(self, device: StepwiseDevice, plan: Plan) -> None:
        super().__init__(device, plan)
        self._steps = tuple(replace(s, calls=tuple(_contracted(s.calls))) for s in self._steps)


def _contracted(calls: tuple[tuple[Call, Kernel], ...]) -> Iterable[tuple[Call, Kernel]]:
    for call, kernel in calls:
        made = [calls[~a][0] if a < 0 else None for a in call.args]
        first = made[0]
        if call.op == "add" and call.dtype.name == "float32" and first and first.op == "mul":
            args = (*first.args, call.args[1])
            yield replace(call, args=args), lambda attrs, x, y, z: fma(x, y, z)
        else:
            yield call, kernel


TINY: Final = np.finfo(np.float32).tiny
ARITHMETIC: Final = frozenset(
    {Kind.ELEMENTWISE, Kind.REDUCE, Kind.SCAN, Kind.MATMUL, Kind.CONV, Kind.POOL}
)
"""Kinds of rows that compute, and do not only move elements."""


def flush(x: Array) -> Array:
    """Make zeros of subnormal float32, of their sign."""
    if x.dtype != np.float32:
        return x
    return np.where(np.abs(x) < TINY, np.copysign(np.float32(0), x), x)


def _flushing(kernel: Kernel) -> Kernel:
    """A device whose float units know no subnormals, as operands nor as results."""
    return lambda attrs, *xs: flush(kernel(attrs, *map(flush, xs)))


FLUSHING: Final = {op: _flushing(f) for op, f in TABLE.items() if REGISTRY[op].kind in ARITHMETIC}


def _leading(x: Array) -> Array:
    """Give the ten leading bits of the fraction."""
    return (np.array(x, order="C").view(np.uint32) >> 13) & 1023


def wrong_entry(attrs: Any, a: Array, b: Array) -> Array:
    """One entry of the divider's table is wrong, as in the Pentium of 1994.

    One pair of operands in 2²⁰ meets it; the quotient is off by one unit of the last place.
    """
    q = np.asarray(a / b)
    hit = (_leading(a) == 0x2A5) & (_leading(b) == 0x133) & np.isfinite(q) & (q != 0)
    return (q.view(np.uint32) + hit.astype(np.uint32)).view(np.float32)


def short_reciprocal(attrs: Any, a: Array, b: Array) -> Array:
    """A quotient is a product with a reciprocal of 43 bits: one Newton step, and no correction.

    Wrong for about one in 10⁶ random pairs, and where a quotient is next to a tie.
    """
    reciprocal = np.asarray(1 / b.astype(np.float64))
    short = (reciprocal.view(np.uint64) & np.uint64(0xFFFF_FFFF_FFFF_FC00)).view(np.float64)
    return (a * short).astype(np.float32)


def toward_zero(x: Array) -> Array:
    """float16 is made by cutting off bits: an integer shift, or the mode that a driver prefers."""
    half = convert.to_float16(x)
    beyond = np.abs(convert.to_float32(half)) > np.abs(x)
    return (half.view(np.uint16) - beyond.astype(np.uint16)).view(np.float16)


def _cast(attrs: Any, x: Array) -> Array:
    """Cast to float16 through float32, which the device narrows by its own rule."""
    half = attrs.dtype.name == "float16"
    return convert.cast(x, np.float32 if half else attrs.dtype.numpy)


fused = Altered("fused", products(fused_product))
loops = Altered("loops", {"matmul": fused_in_loops})
expression = Altered("expression", execute=Contracting, fusion=True)
flushing = Altered("flushing", FLUSHING)
flushing_declared = Altered("flushing-declared", FLUSHING, level="exact-normal")
division = Altered("division", {"div": wrong_entry})
quotient = Altered("quotient", {"div": short_reciprocal})
half = Altered("half", {"cast": _cast}, conversions=replace(CONVERSIONS, narrow=toward_zero))

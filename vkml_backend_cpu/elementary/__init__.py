"""Elementary functions on float32: correctly rounded, and the same bits on every machine."""

from collections.abc import Callable

from vkml_backend_cpu.elementary.erf import erf, erfc
from vkml_backend_cpu.elementary.explog import (
    exp,
    exp2,
    expm1,
    log,
    log1p,
    log2,
    log10,
    sigmoid,
    tanh,
)
from vkml_backend_cpu.elementary.power import pow
from vkml_backend_cpu.elementary.roots import reciprocal, rsqrt, sqrt
from vkml_backend_cpu.elementary.rounding import Elementary, Float32
from vkml_backend_cpu.elementary.trig import cos, sin, tan

_ROUNDED = (exp, exp2, expm1, log, log2, log10, log1p, sin, cos, tan, tanh, sigmoid, erf, erfc)

ELEMENTARY: dict[str, Callable[[Float32], Float32]] = {
    **{function.name: function for function in (*_ROUNDED, rsqrt)},
    "sqrt": sqrt,
    "reciprocal": reciprocal,
}

__all__ = ["ELEMENTARY", "Elementary", "pow", *sorted(ELEMENTARY)]

"""How inputs and results are filtered on a device of level exact-normal; nothing is skipped.

Operands: what is too small is replaced by 1 of its sign, so that neither an operand nor an
intermediate is subnormal. How small that is depends on the row's numeric form: a product of two
numbers needs twice the exponent, a product of many stays near 1. Results: those elements of an
element-wise operation are compared in whose making, by the oracle, no subnormal occurs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from vkml_conformance.normal import TINY, unaffected

from tests.oracle.values import Array
from vkml_core.backend import Device
from vkml_core.ops.spec import REGISTRY, Form, Kind

_LEAST: Final[dict[Form, float]] = {
    Form.PROD: 0.5,
    **dict.fromkeys((Form.MATMUL, Form.CONV), 2.0**-40),
    **dict.fromkeys((Form.SUM, Form.CUMSUM, Form.WINDOW, Form.SCATTER), 2.0**-100),
}


def flushes(device: Device) -> bool:
    """Whether the device is promised only what needs no subnormal."""
    return device.capabilities().level == "exact-normal"


def tamed(op: str, x: Array) -> Array:
    """Replace floats, but not zeros, that are too small for the row by ±1."""
    if x.dtype.kind != "f":
        return x
    least = _LEAST.get(REGISTRY[op].form, float(TINY))
    small = (x != 0) & (np.abs(x.astype(np.float32)) < least)
    return np.where(small, np.copysign(x.dtype.type(1), x), x)


def compared(op: str, operands: Sequence[Array], want: Array) -> Array:
    """Mark the elements of a result of tamed operands that are compared."""
    if REGISTRY[op].kind is Kind.ELEMENTWISE:
        with np.errstate(all="ignore"):
            return unaffected(op, operands, want)
    return np.ones(want.shape, np.bool_)

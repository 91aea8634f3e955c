"""Whether a call takes no subnormal step: what a device of level exact-normal is held to in graphs.

Operands and result are looked at, and the steps between them are bounded from the operands, always
to the safe side. Sums: where every operand that is not 0 is at least 2⁻¹⁰², each is a multiple of
2⁻¹²⁵, so is every partial sum, and none is subnormal. Products of a matrix product likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from vkml_conformance.normal import subnormal, unaffected
from vkml_conformance.values import Array
from vkml_core.ops.spec import REGISTRY, Form, Kind

_LEAST: Final = 2.0**-102
_LEAST_PRODUCT: Final = -120.0
"""Binary logarithm below which a product of several numbers is not promised."""


def _least(x: Array) -> float:
    """Give the smallest magnitude that is not 0; infinity where there is none."""
    sizes = np.abs(x.astype(np.float64))
    sizes = sizes[sizes > 0]
    return float(sizes.min()) if sizes.size else np.inf


def _adds(attrs: Any, operands: Sequence[Array]) -> bool:
    return _least(operands[0]) >= _LEAST


def _multiplies(attrs: Any, operands: Sequence[Array]) -> bool:
    a, b = map(_least, operands)
    return min(a, b, a * b) >= _LEAST


def _products(attrs: Any, operands: Sequence[Array]) -> bool:
    """No partial product is smaller than that of all magnitudes below 1."""
    sizes = np.abs(operands[0].astype(np.float64))
    below = np.where((sizes > 0) & (sizes < 1), sizes, 1.0)
    logs = np.log2(below).sum(axis=attrs.axes)
    return bool(np.all(logs >= _LEAST_PRODUCT))


_STEPS: Final[dict[Form, Callable[[Any, Sequence[Array]], bool]]] = {
    Form.SUM: _adds,
    Form.CUMSUM: _adds,
    Form.WINDOW: _adds,
    Form.SCATTER: _adds,
    Form.MATMUL: _multiplies,
    Form.CONV: _multiplies,
    Form.PROD: _products,
}
"""Steps of the forms that take more than one; all others have operands and a result alone."""


def normal(op: str, attrs: Any, operands: Sequence[Array], result: Array) -> bool:
    """Whether neither operands nor result nor a step between them is subnormal."""
    spec = REGISTRY[op]
    if spec.kind is Kind.ELEMENTWISE:
        return bool(unaffected(op, operands, result).all())
    if any(subnormal(x).any() for x in (*operands, result)):
        return False
    steps = _STEPS.get(spec.form)
    floats = operands[0].dtype.kind == "f"
    return steps is None or not floats or steps(attrs, operands)

"""What a device of level exact-normal is held to: everything in which no subnormal occurs.

Such a device may take a subnormal operand as zero and may give zero for a subnormal result. The
elements of an element-wise operation do not depend on each other, so those are compared whose
operands, written steps and result, as the oracle gives it, are not subnormal. Of all other
operations only cases are run whose domain keeps operands, intermediates and results normal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from vkml_conformance.cases import Case
from vkml_conformance.values import Array
from vkml_core.ops.spec import Kind

TINY: Final = np.finfo(np.float32).tiny


_STEPS: Final[dict[str, Callable[..., Array]]] = dict.fromkeys(
    ("remainder", "floor_divide"), np.fmod
)
"""Steps that the contract writes out (rule 14) and that can be subnormal alone."""


def subnormal(x: Array) -> Array:
    """Mark float32 elements that are subnormal, or the normal one that such a result rounds to.

    The subnormals of float16 are normal in float32, in which everything is computed.
    """
    if x.dtype != np.float32:
        return np.zeros(x.shape, np.bool_)
    size = np.abs(x)
    return np.asarray((size > 0) & (size <= TINY))


def unaffected(op: str, operands: Sequence[Array], want: Array) -> Array:
    """Mark the elements of an element-wise result in whose making no subnormal occurs."""
    steps = [_STEPS[op](*operands)] if op in _STEPS else []
    out = np.ones(want.shape, np.bool_)
    for x in (*operands, *steps, want):
        out &= ~subnormal(x)
    return out


def compared(case: Case, want: Array) -> Array | None:
    """Mark the elements of a result that exact-normal promises; None where it promises none."""
    if case.spec.kind is Kind.ELEMENTWISE:
        return unaffected(case.spec.name, case.arrays, want)
    if not case.domain.normal:
        return None
    hidden = any(subnormal(x).any() for x in (*case.arrays, want))
    return None if hidden else np.ones(want.shape, np.bool_)


def compared_gradient(case: Case, want: Array) -> Array | None:
    """Mark the elements of a gradient likewise; its rule may take any number of steps."""
    if not case.domain.normal or subnormal(want).any():
        return None
    return np.ones(want.shape, np.bool_)

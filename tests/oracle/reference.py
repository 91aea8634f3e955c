"""All scalar references by row, and the comparison of a kernel with its reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from . import reference_elementwise, reference_moves, reference_sums, reference_windows
from .reference_elementwise import over
from .run import assert_same_bits, canonical, run
from .values import Array


def _power(attrs: Any, a: Array, b: Array) -> Array:
    return over(reference_elementwise.integer_power, a.dtype, a, b)


INTEGER_POWER: Final[dict[str, Callable[..., Array]]] = {"pow": _power}
"""The power of floats has its own judge in tests/numerics, as the elementary functions have."""

REFERENCE: Final[dict[str, Callable[..., Array]]] = {
    **reference_elementwise.REFERENCE,
    **reference_sums.REFERENCE,
    **reference_windows.REFERENCE,
    **reference_moves.REFERENCE,
    **INTEGER_POWER,
}


def judge(op: str, attrs: Any, *arrays: Array) -> None:
    """Assert that the kernel gives the reference's bits."""
    with np.errstate(all="ignore"):
        want = canonical(np.asarray(REFERENCE[op](attrs, *arrays)))
    assert_same_bits(run(op, attrs, *arrays), want)

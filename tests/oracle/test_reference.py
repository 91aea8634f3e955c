"""Every kernel gives the bits of a scalar reference written from the contract alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from vkml_backend_cpu.elementary import ELEMENTARY
from vkml_backend_cpu.table import TABLE

from . import reference_elementwise, reference_moves, reference_sums, reference_windows
from .cases import CASES, Case
from .reference_elementwise import over
from .run import assert_same_bits, canonical, run
from .values import Array

REFERENCE = {
    **reference_elementwise.REFERENCE,
    **reference_sums.REFERENCE,
    **reference_windows.REFERENCE,
    **reference_moves.REFERENCE,
}
INTEGER_POWER = {
    "pow": lambda attrs, a, b: over(reference_elementwise.integer_power, a.dtype, a, b)
}
"""The power of floats has its own judge in tests/numerics, as the elementary functions have."""


def expected(op: str, attrs: Any, *arrays: Array) -> Array:
    with np.errstate(all="ignore"):
        return canonical(np.asarray((REFERENCE | INTEGER_POWER)[op](attrs, *arrays)))


def judged(case: Case) -> bool:
    return case.op in REFERENCE or (case.op == "pow" and case.arrays[0].dtype.kind == "i")


def test_every_kernel_has_cases_and_a_judge() -> None:
    assert {case.op for case in CASES} == set(TABLE)
    assert set(TABLE) == set(REFERENCE) | set(INTEGER_POWER) | set(ELEMENTARY)


@pytest.mark.parametrize("op", sorted(REFERENCE | INTEGER_POWER))
def test_bits(op: str) -> None:
    for case in filter(judged, CASES):
        if case.op == op:
            got = run(op, case.attrs, *case.arrays)
            assert_same_bits(got, expected(op, case.attrs, *case.arrays))

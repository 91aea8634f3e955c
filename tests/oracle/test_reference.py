"""Every kernel gives the bits of a scalar reference written from the contract alone."""

from __future__ import annotations

import pytest

from vkml_backend_cpu.elementary import ELEMENTARY
from vkml_backend_cpu.table import TABLE

from .cases import CASES
from .reference import INTEGER_POWER, REFERENCE, judge


def test_every_kernel_has_cases_and_a_judge() -> None:
    assert {case.op for case in CASES} == set(TABLE)
    assert set(TABLE) == set(REFERENCE) | set(ELEMENTARY)


@pytest.mark.parametrize("op", sorted(REFERENCE))
def test_bits(op: str) -> None:
    cases = [c for c in CASES if c.op == op]
    judged = [c for c in cases if op not in INTEGER_POWER or c.arrays[0].dtype.kind == "i"]
    assert judged
    for case in judged:
        judge(op, case.attrs, *case.arrays)

"""Every row of the registry with every dtype, layout and value domain: the oracle's bits.

Results and gradients, through tensors. On a device of level exact-normal all is compared in which
no subnormal occurs, by the rule of `vkml_conformance.normal`.
"""

from __future__ import annotations

import needs_vulkan  # noqa: F401
import pytest
from vkml_conformance.cases import cases_of, takes
from vkml_conformance.check import Part
from vkml_conformance.engine import judge
from vkml_conformance.rows import check_of, parts

import vkml
from vkml_core.dtypes import DType
from vkml_core.ops.spec import REGISTRY, OpSpec

FINE = ("equal", "left out")
EACH = [
    pytest.param(spec, dtype, id=f"{spec.name} {dtype.name}")
    for spec in REGISTRY.values()
    for dtype in takes(spec)
]
WITH_GRADIENT = [
    param
    for param in EACH
    if any(case.differentiable for case in cases_of(*param.values))  # type: ignore[arg-type]
]


def prove(spec: OpSpec, dtype: DType, part: Part, device: str) -> None:
    """Assert that all cases agree, run as one plan, and that some are held."""
    level = vkml.device(device).capabilities().level
    checks = [check_of(c, part) for c in cases_of(spec, dtype) if part in parts(c)]
    outcomes = [(check.id, judge(check, device, level, ("first",))) for check in checks]
    wrong = [f"{i}: {o.difference or o.message}" for i, o in outcomes if o.status not in FINE]
    shown = "\n".join(wrong[:5])
    assert not wrong, f"{len(wrong)} of {len(checks)} cases differ:\n{shown}"
    assert sum(outcome.elements for _, outcome in outcomes)


@pytest.mark.parametrize(("spec", "dtype"), EACH)
def test_result(spec: OpSpec, dtype: DType, name: str) -> None:
    prove(spec, dtype, "forward", name)


@pytest.mark.parametrize(("spec", "dtype"), WITH_GRADIENT)
def test_gradient(spec: OpSpec, dtype: DType, name: str) -> None:
    prove(spec, dtype, "gradient", name)

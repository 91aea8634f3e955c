"""Every row of the registry with every dtype, layout and value domain: the oracle's bits.

Results and gradients, through tensors. On a device of level exact-normal all is compared in which
no subnormal occurs, by the rule of `vkml_conformance.normal`.
"""

from __future__ import annotations

import needs_vulkan  # noqa: F401
import pytest
from vkml_conformance.cases import cases_of, takes
from vkml_conformance.compare import Part, check

import vkml
from vkml_core.dtypes import DType
from vkml_core.ops.spec import REGISTRY, OpSpec

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


def judge(spec: OpSpec, dtype: DType, part: Part, device: str) -> None:
    """Assert that all cases agree, and that some are held."""
    level = vkml.device(device).capabilities().level
    cases = [c for c in cases_of(spec, dtype) if part == "forward" or c.differentiable]
    outcomes = [check(case, part, device, level) for case in cases]
    differing = [o.difference for o in outcomes if o.difference is not None]
    shown = "\n".join(map(str, differing[:5]))
    assert not differing, f"{len(differing)} of {len(cases)} cases differ:\n{shown}"
    assert sum(o.elements for o in outcomes if o.held)


@pytest.mark.parametrize(("spec", "dtype"), EACH)
def test_result(spec: OpSpec, dtype: DType, name: str) -> None:
    judge(spec, dtype, "forward", name)


@pytest.mark.parametrize(("spec", "dtype"), WITH_GRADIENT)
def test_gradient(spec: OpSpec, dtype: DType, name: str) -> None:
    judge(spec, dtype, "gradient", name)

"""Every differentiable row and composition: first to third derivatives, checked three ways."""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest

import vkml
from vkml_core.graph import reachable
from vkml_core.ops.spec import REGISTRY
from vkml_core.public import PUBLIC

from .case import Case
from .cases import CASES
from .derivatives import (
    assert_close,
    exact,
    finite_differences,
    floating,
    leaf,
    orders,
    torch_orders,
)

each_case = pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)

ENDING: Final = (
    "sign equal not_equal less less_equal greater greater_equal isnan isinf logical_not all any "
    "bitwise_not bitwise_and bitwise_or bitwise_xor argmax argmin argsort"
)
"""No gradient by design: comparisons, signs, integers, bits."""

STARTING: Final = (
    "tensor from_numpy asarray zeros ones full zeros_like ones_like full_like arange linspace eye "
    "rand randn randint manual_seed get_rng_state set_rng_state realize plan assign "
    "backward grad detach"
)
"""They make leaves, compute or differentiate."""

WITHOUT: Final = {*ENDING.split(), *STARTING.split()}


def heads(cases: tuple[Case, ...]) -> set[str]:
    return {c.name.split()[0] for c in cases}


def test_every_differentiable_row_has_a_case() -> None:
    seen = set()
    for case in CASES:
        outputs = floating(case.function(vkml, *map(leaf, case.arrays())))
        seen |= {n.op.name for n in reachable([t.node for t in outputs]) if n.requires_grad}
    assert {n for n, spec in REGISTRY.items() if spec.differentiable} <= seen


def test_every_public_function_has_a_case_or_no_gradient() -> None:
    public = set(PUBLIC)
    assert public - heads(CASES) - WITHOUT == set()
    assert not WITHOUT & heads(CASES)
    assert not WITHOUT - public


def test_case_names_are_unique() -> None:
    assert len({c.name for c in CASES}) == len(CASES)


@each_case
def test_derivatives_are_those_of_finite_differences(case: Case) -> None:
    inputs = [leaf(a) for a in case.arrays()]
    for loss, found in orders(case.function(vkml, *inputs), inputs, 3):
        assert_close(exact(found, inputs), finite_differences(loss, inputs), 1e-6)


@each_case
def test_derivatives_are_those_of_torch(case: Case) -> None:
    inputs = [leaf(a) for a in case.arrays()]
    ours = orders(case.function(vkml, *inputs), inputs, 2)
    theirs = torch_orders(case.of_torch, case.arrays(), 2)
    for (_, found), wanted in zip(ours, theirs, strict=True):
        assert_close(exact(found, inputs), wanted, 1e-6)


@each_case
def test_float32_gradients_on_the_device(case: Case) -> None:
    inputs = [leaf(a) for a in case.arrays()]
    outputs = floating(case.function(vkml, *inputs))
    _, found = next(orders(outputs, inputs, 1))
    vkml.realize(outputs, found)
    assert_close([t.numpy() for t in found], exact(found, inputs), 1e-5)
    assert_close([t.numpy() for t in outputs], exact(outputs, inputs), 1e-5)
    assert all(t.dtype is vkml.float32 for t in found)
    assert all(np.isfinite(t.numpy()).all() for t in found)

"""Between the calls of a fused kernel a NaN has any bits: nothing that follows may see which."""

from __future__ import annotations

import operator

import needs_vulkan  # noqa: F401
import numpy as np
import pytest

import vkml
from tests.everywhere import same_everywhere
from vkml_backend_vulkan.shaders.tables import elementwise
from vkml_core.tensor import Tensor

EDGES = np.array(
    [np.inf, -np.inf, np.nan, -np.nan, 0.0, -0.0, 1.5, -1.5, 1e-45, -1e-45, 3e38, 1e-30], np.float32
)
OPERATORS = {"div": operator.truediv, "pow": operator.pow}
MADE = {
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "sqrt": lambda x, y: (x * y).sqrt(),
    "rsqrt": lambda x, y: (x - y).rsqrt(),
}
"""Of these a device makes NaN of its own: x86 with the sign bit, NVIDIA without."""


def taken(z: Tensor, y: Tensor) -> dict[str, Tensor]:
    """What may follow: functions of the bits, comparisons, selections, conversions, heads."""
    return {
        "neg": -z,
        "abs": z.abs(),
        "sign": z.sign(),
        "relu": z.relu(),
        "floor": z.floor(),
        "round": z.round(),
        "maximum": vkml.maximum(z, y),
        "minimum": vkml.minimum(y, z),
        "equal": z == z,
        "not_equal": z != y,
        "less": z < y,
        "isnan": vkml.isnan(-z),
        "where": vkml.where(z != z, -z, y),
        "float16": z.to(vkml.float16),
        "int32": z.to(vkml.int32),
        "int64": (-z).to(vkml.int64),
        "bool": z.to(vkml.bool_),
        "pow": z**y,
        "remainder": z % y,
        "exp": z.exp(),
        "sigmoid": (-z).sigmoid(),
        "tanh": z.tanh(),
        "log": z.log(),
        "sqrt": z.sqrt(),
        "reciprocal": 1 / z,
        "sin": z.sin(),
        "sum": z.sum(),
        "amax": z.amax(),
        "argmax": z.argmax(),
        "argsort": z.argsort(),
    }


@pytest.mark.parametrize("name", MADE)
def test_what_follows_takes_it_for_nan(name: str) -> None:
    x, y = (g.reshape(-1) for g in np.meshgrid(EDGES, EDGES))

    def program(device: str) -> dict[str, Tensor]:
        a, b = vkml.tensor(x, device=device), vkml.tensor(y, device=device)
        z = MADE[name](a, b)
        return {"itself": z, **taken(z, b)}

    same_everywhere(program)


@pytest.mark.parametrize("op", sorted(elementwise.SETTLED))
def test_what_is_stored_as_it_is_has_the_canonical_nan(op: str) -> None:
    """Whatever NaN it is given: with the sign bit and without, alone and in whole rows."""
    x, y = np.meshgrid(EDGES, EDGES)

    def program(device: str) -> list[Tensor]:
        a, b = vkml.tensor(x, device=device), vkml.tensor(y, device=device)
        made = []
        for z in (a - b, -(a - b), a * b, -a):
            r = OPERATORS[op](z, b) if op in OPERATORS else getattr(z, op)()
            made += [r, r - r.amax(-1, keepdim=True), (-r).amax(-1)]
            if op in OPERATORS:
                made.append(OPERATORS[op](b, z))
        return made

    same_everywhere(program)


def test_nan_in_a_head_and_after_it() -> None:
    x = np.resize(EDGES, (12, 12)).astype(np.float32)

    def program(device: str) -> list[Tensor]:
        a = vkml.tensor(x, device=device)
        product = a @ a.T
        return [-product - product, (-product).abs(), (a - a.T).sum(0) / (a * 0).sum(1)]

    same_everywhere(program)

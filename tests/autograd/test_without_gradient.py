"""Every row without a gradient rule is a clear error, and integers have no gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pytest

import vkml
from vkml import GradientError, Tensor
from vkml_core.ops.spec import REGISTRY, Kind, NotDifferentiable

from .case import ints, row
from .derivatives import leaf

X: Final = np.array([1.0, -2.0, 3.0])


def flags() -> Tensor:
    return ints([1, 0]) > 0


def of_one(name: str, **attrs: Any) -> Callable[[Tensor], Tensor]:
    return lambda x: row(name, x, **attrs)


def of_two(name: str) -> Callable[[Tensor], Tensor]:
    return lambda x: row(name, x, x)


def of_flags(name: str) -> Callable[[], Tensor]:
    return lambda: row(name, flags(), flags())


WINDOW: Final = {"kernel": (2, 2), "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}
OF_FLOATS: Final[dict[str, Callable[[Tensor], Tensor]]] = {
    **{name: of_one(name) for name in ("sign", "isnan", "isinf", "detach")},
    **{name: of_two(name) for name in ("equal", "not_equal", "less", "less_equal", "assign")},
    **{name: of_two(name) for name in ("greater", "greater_equal")},
    **{name: of_one(name, axis=0) for name in ("argmax", "argmin")},
    "argsort": of_one("argsort", axis=0, descending=False),
    "max_pool2d_indices": lambda x: row(
        "max_pool2d_indices", x.reshape(3, 1, 1, 1).expand(3, 1, 2, 2), **WINDOW
    ),
}
"""Rows that take floats and end the gradient."""

OF_INTEGERS: Final[dict[str, Callable[[], Tensor]]] = {
    "bitwise_not": lambda: ~flags(),
    **{name: of_flags(name) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")},
    "arange": lambda: row("arange", ints(0), ints(1), length=4),
    "random_bits": lambda: row("random_bits", ints(0), ints(0), shape=(4,), bits=24),
}
"""Rows that take nothing which could require a gradient."""

LEAVES: Final[dict[str, Callable[[], Tensor]]] = {
    "data": lambda: vkml.tensor([1.0]),
    "full": lambda: vkml.ones(2),
}


def test_every_row_without_gradient_has_a_case() -> None:
    rows = {name for name, spec in REGISTRY.items() if not spec.differentiable}
    assert rows == {*OF_FLOATS, *OF_INTEGERS, *LEAVES}
    assert {n for n in rows if REGISTRY[n].kind is Kind.LEAF} == set(LEAVES)


@pytest.mark.parametrize("name", OF_FLOATS)
def test_rows_that_end_the_gradient_say_so(name: str) -> None:
    x = leaf(X)
    out = OF_FLOATS[name](x * 2)
    spec = REGISTRY[name].vjp
    assert isinstance(spec, NotDifferentiable) and not out.requires_grad
    for asked in (out, out.to(vkml.float32).exp().sum()):
        with pytest.raises(GradientError, match=f"{name} has no gradient: {spec.reason}"):
            asked.backward()
        with pytest.raises(GradientError, match=name):
            vkml.grad(asked, x)
    assert x.grad is None


@pytest.mark.parametrize("name", OF_INTEGERS)
def test_rows_of_integers_never_require_a_gradient(name: str) -> None:
    out = OF_INTEGERS[name]()
    assert out.node.op.name == name and out.is_leaf
    with pytest.raises(TypeError, match="only floating-point tensors have gradients"):
        out.requires_grad_()
    with pytest.raises(GradientError, match="nothing that it is computed from has requires_grad"):
        out.to(vkml.float32).sum().backward()


@pytest.mark.parametrize("name", LEAVES)
def test_gradients_end_at_leaves(name: str) -> None:
    x = LEAVES[name]()
    assert x.node.op.name == name
    with pytest.raises(GradientError, match="requires_grad=True"):
        (x * 2).sum().backward()
    x.requires_grad_()
    (x * 2).sum().backward()
    assert x.grad is not None and set(x.grad.tolist()) == {2.0}


@pytest.mark.parametrize("dtype", ["int32", "int64", "bool_"])
def test_integers_refuse_requires_grad(dtype: str) -> None:
    with pytest.raises(vkml.DTypeError, match=f"only floating-point tensors.*{dtype}"):
        vkml.tensor([1, 0], dtype=dtype, requires_grad=True)
    x = vkml.tensor([1, 0], dtype=dtype)
    with pytest.raises(vkml.DTypeError):
        x.requires_grad_()
    assert not x.requires_grad and not (x.to(vkml.float32) * 2).requires_grad

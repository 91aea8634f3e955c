"""Leaves, accumulation, modes and the errors of asking for what does not exist."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import pytest

import vkml
from vkml import GradientError, Tensor
from vkml_core.ops.spec import REGISTRY, Kind, NotDifferentiable

from .cases import ints, row
from .derivatives import leaf

X: Final = np.array([1.0, -2.0, 3.0])


def flags() -> Tensor:
    return vkml.tensor([True, False])


WINDOW: Final = {"kernel": (2, 2), "stride": (1, 1), "padding": (0, 0), "dilation": (1, 1)}
OF_FLOATS: Final[dict[str, Callable[[Tensor], Tensor]]] = {
    **{name: lambda x, n=name: row(n, x) for name in ("sign", "isnan", "isinf", "detach")},
    **{
        name: lambda x, n=name: row(n, x, x)
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    },
    **{name: lambda x, n=name: row(n, x, axis=0) for name in ("argmax", "argmin")},
    "argsort": lambda x: row("argsort", x, axis=0, descending=False),
    "max_pool2d_indices": lambda x: row(
        "max_pool2d_indices", x.reshape(3, 1, 1, 1).expand(3, 1, 2, 2), **WINDOW
    ),
    "assign": lambda x: row("assign", x, x),
}
"""Rows that take floats and end the gradient."""

OF_INTEGERS: Final[dict[str, Callable[[], Tensor]]] = {
    "bitwise_not": lambda: ~flags(),
    **{
        name: lambda n=name: row(n, flags(), flags())
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
    },
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


def test_backward_twice_needs_retain_graph() -> None:
    x = leaf(X)
    loss = (x * x).sum()
    loss.backward()
    with pytest.raises(GradientError, match="retain_graph=True"):
        loss.backward()
    with pytest.raises(GradientError, match="retain_graph=True"):
        vkml.grad(loss, x)
    assert x.grad is not None and x.grad.tolist() == [2.0, -4.0, 6.0]
    assert loss.item() == 14.0


def test_retained_backward_doubles_the_gradient() -> None:
    x = leaf(X)
    loss = (x * x).sum()
    loss.backward(retain_graph=True)
    loss.backward(retain_graph=True)
    assert x.grad is not None and x.grad.tolist() == [4.0, -8.0, 12.0]
    loss.backward()
    assert x.grad.tolist() == [6.0, -12.0, 18.0]
    with pytest.raises(GradientError):
        loss.backward()


def test_two_losses_accumulate_and_none_starts_anew() -> None:
    x, y = leaf(X), leaf(X)
    shared = x * 2
    shared.sum().backward()
    (shared * shared + y).sum().backward()
    assert x.grad is not None and x.grad.tolist() == [2 + 8.0, 2 - 16.0, 2 + 24.0]
    assert y.grad is not None and y.grad.tolist() == [1.0, 1.0, 1.0]
    x.grad = None
    x.sum().backward()
    assert x.grad is not None and x.grad.tolist() == [1.0, 1.0, 1.0]


def test_a_leaf_is_its_own_output() -> None:
    x = leaf(np.array(3.0))
    x.backward()
    x.backward()
    assert x.grad is not None and x.grad.item() == 2.0
    (found,) = vkml.grad(x, x)
    assert found is not None and found.item() == 1.0


def test_detach_no_grad_and_enable_grad() -> None:
    x = leaf(X)
    (x * x.detach()).sum().backward()
    assert x.grad is not None and x.grad.tolist() == X.tolist()
    with vkml.no_grad():
        silent = x * 2
        assert not silent.requires_grad and silent.is_leaf
        with vkml.enable_grad():
            loud = x * 3
        again = x * 4
    assert loud.requires_grad and not again.requires_grad and (x * 5).requires_grad
    with pytest.raises(GradientError, match="no_grad"):
        silent.sum().backward()


def test_modes_are_decorators_and_end_with_an_exception() -> None:
    @vkml.no_grad()
    def double(t: Tensor) -> Tensor:
        return t * 2

    x = leaf(X)
    assert not double(x).requires_grad
    with pytest.raises(KeyError), vkml.no_grad():
        raise KeyError
    assert (x * 2).requires_grad


def test_a_backward_gradient_is_checked() -> None:
    x = leaf(X)
    with pytest.raises(vkml.ShapeError, match=r"one element.*\(3,\)"):
        (x * 2).backward()
    with pytest.raises(vkml.ShapeError, match=r"\(2,\)"):
        (x * 2).backward(vkml.ones(2))
    (x * 2).backward(vkml.tensor([1.0, 0.0, -1.0]))
    assert x.grad is not None and x.grad.tolist() == [2.0, 0.0, -2.0]


def test_grad_takes_inner_nodes_and_leaves_grad_alone() -> None:
    x = leaf(X)
    y = x * 3
    z = y * y
    by_y, by_x, by_z = vkml.grad(z.sum(), [y, x, z])
    assert by_y is not None and by_y.tolist() == (6 * X).tolist()
    assert by_x is not None and by_x.tolist() == (18 * X).tolist()
    assert by_z is not None and by_z.tolist() == [1.0, 1.0, 1.0]
    assert x.grad is None
    y.realize()
    (again,) = vkml.grad((y * y).sum(), y)
    assert again is not None and again.tolist() == (6 * X).tolist()


def test_grad_of_several_outputs_is_of_their_sum() -> None:
    x = leaf(X)
    seeds = [vkml.tensor(2.0), None]
    (found,) = vkml.grad([(x * 2).sum(), x.square().sum()], x, grad_outputs=seeds)
    assert found is not None and found.tolist() == (4 + 2 * X).tolist()


def test_unused_inputs_are_an_error_or_none() -> None:
    x, y = leaf(X), leaf(X)
    with pytest.raises(GradientError, match="input 1 was not used.*allow_unused"):
        vkml.grad(x.sum(), [x, y])
    used, unused = vkml.grad(x.sum(), [x, y], allow_unused=True)
    assert used is not None and unused is None
    with pytest.raises(GradientError, match="input 0 does not require a gradient"):
        vkml.grad(x.sum(), vkml.ones(3))


def test_values_read_in_between_keep_the_history() -> None:
    x = leaf(X)
    y = (x * 2).exp()
    y.numpy()
    z = y.sum()
    z.item()
    z.backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), 2 * np.exp(2 * X), rtol=1e-6)


def test_eager_and_lazy_gradients_have_equal_bits() -> None:
    def step() -> list[bytes]:
        x, w = leaf(np.linspace(-2, 2, 12).reshape(4, 3)), leaf(np.linspace(-1, 1, 6).reshape(3, 2))
        loss = vkml.cross_entropy((x @ w).gelu(), ints([0, 1, 1, 0]))
        loss.backward()
        assert x.grad is not None and w.grad is not None
        return [t.numpy().tobytes() for t in (loss, x.grad, w.grad)]

    lazy = step()
    with vkml.eager_mode():
        assert step() == lazy

"""Leaves, accumulation, modes, and the errors of asking for what does not exist."""

from __future__ import annotations

from typing import Final

import numpy as np
import pytest

import vkml
from vkml import GradientError, Tensor

from .case import ints
from .derivatives import leaf

X: Final = np.array([1.0, -2.0, 3.0])


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
    y.grad = None
    (y * 5).sum().backward()
    assert vkml.asarray(y.grad).tolist() == [5.0, 5.0, 5.0]


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
    with pytest.raises(GradientError, match=r"input 1 was not used.*allow_unused"):
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

"""Gradients of a value that is used several times are added in program order, to the bit."""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np
import pytest

import vkml
from vkml import Tensor

from .derivatives import leaf

HUGE: Final = (1e8, 1.0, -1e8)
ORDERS: Final = list(itertools.permutations(HUGE))


def fold(numbers: tuple[float, ...]) -> float:
    """Add float32 numbers from the first to the last."""
    total = np.float32(numbers[0])
    for n in numbers[1:]:
        total = total + np.float32(n)
    return float(total)


def gradient(loss: Tensor, x: Tensor) -> float:
    (found,) = vkml.grad(loss, x)
    assert found is not None
    return float(found.item())


def test_the_orders_differ_in_bits() -> None:
    assert {fold(order) for order in ORDERS} == {0.0, 1.0}


@pytest.mark.parametrize("order", ORDERS)
def test_uses_add_up_in_program_order(order: tuple[float, ...]) -> None:
    x = leaf(np.array(1.0))
    a, b, c = (x * w for w in order)
    for loss in ((a + b) + c, c + (b + a), b + (a + c)):
        assert gradient(loss, x) == fold(order)


@pytest.mark.parametrize("order", ORDERS)
def test_inputs_of_one_operation_add_up_in_their_order(order: tuple[float, ...]) -> None:
    x = leaf(np.array([1.0]))
    joined = vkml.cat([x, x, x]) * vkml.tensor(np.array(order, np.float32))
    assert gradient(joined.sum(), x) == fold(order)


@pytest.mark.parametrize("order", ORDERS)
def test_losses_accumulate_in_the_order_of_backward(order: tuple[float, ...]) -> None:
    x = leaf(np.array(1.0))
    for w in order:
        (x * w).backward()
    assert x.grad is not None and x.grad.item() == fold(order)


@pytest.mark.parametrize("order", ORDERS)
def test_inner_nodes_add_up_in_program_order(order: tuple[float, ...]) -> None:
    x = leaf(np.array(1.0))
    y = x * 1.0
    a, b, c = (y * w for w in order)
    assert gradient(a + c + b, y) == fold(order)
    assert gradient(a + c + b, x) == fold(order)


def test_eager_mode_gives_the_same_order() -> None:
    with vkml.eager_mode():
        for order in ORDERS:
            x = leaf(np.array(1.0))
            a, b, c = (x * w for w in order)
            assert gradient(c + (b + a), x) == fold(order)

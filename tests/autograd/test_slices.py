"""Slices of every start, stop and step: first and second derivatives, to the bit."""

from __future__ import annotations

import itertools
from typing import Final

import numpy as np
import pytest

import vkml

from .derivatives import leaf

N: Final = 6
STEPS: Final = (-7, -4, -3, -2, -1, 1, 2, 3, 4, 7)
ENDS: Final = (None, -4, -1, 0, 2, 5, 9)


@pytest.mark.parametrize("step", STEPS)
def test_derivatives_of_a_cube_of_a_slice(step: int) -> None:
    values = np.arange(1.0, N + 1)
    pending = []
    for start, stop in itertools.product(ENDS, ENDS):
        x, key = leaf(values), slice(start, stop, step)
        y = x[key]
        (first,) = vkml.grad((y * y * y).sum(), x, create_graph=True)
        assert first is not None
        (second,) = vkml.grad((first * vkml.tensor([1.0, 2, 3, 4, 5, 6])).sum(), x)
        chosen = np.zeros(N)
        chosen[key] = 1
        pending += [(first, 3 * values**2 * chosen), (second, 6 * values**2 * chosen)]
    vkml.realize([found for found, _ in pending])
    for found, wanted in pending:
        np.testing.assert_array_equal(found.numpy(), wanted)


KEYS: Final = (
    (slice(None, None, -2), 1),
    (0, slice(4, 0, -3)),
    (-1, None, -2),
    (slice(2, 2), slice(None, None, -2)),
)


@pytest.mark.parametrize("key", KEYS)
def test_slices_of_two_dimensions(key: tuple[int | slice | None, ...]) -> None:
    values = np.arange(12.0).reshape(3, 4)
    x = leaf(values)
    (x[key] ** 2).sum().backward()
    chosen = np.zeros((3, 4))
    chosen[key] = 1
    assert x.grad is not None
    np.testing.assert_array_equal(x.grad.numpy(), 2 * values * chosen)

"""Elementary functions are correctly rounded, also where the first phase leaves the value open."""

from __future__ import annotations

import numpy as np
import pytest
import vkml
from conftest import bits, same
from vkml_core.plugins import open_device

from vkml_backend_numba.kernels.operations import LIMITS


def every(step: int) -> np.ndarray:
    """Give float32 of all signs and sizes, NaN and infinities among them."""
    return np.arange(0, 2**32, step, dtype=np.uint64).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_a_sample_of_all_floats(name):
    x = every(39983)
    same(lambda d: [getattr(vkml, name)(vkml.tensor(x, device=d))])


def test_open_roundings_are_decided_and_kept():
    """Among so many arguments some are open: the table of decided ones grows, and the bits hold."""
    x = np.linspace(0.1, 80.0, 6_000_000, dtype=np.float32)
    device = open_device("numba")
    device.workspace.hard[:] = 0
    first = bits([vkml.log(vkml.tensor(x, device="numba"))])
    assert device.workspace.hard[:, 0].sum() > 0
    again = bits([vkml.log(vkml.tensor(x, device="numba"))])
    assert first == again == bits([vkml.log(vkml.tensor(x, device="cpu"))])


def test_a_step_that_stops_too_often_is_the_hosts(monkeypatch):
    from vkml_backend_numba import executable

    monkeypatch.setattr(executable, "MOST_TRIES", 0)
    x = np.linspace(0.1, 80.0, 6_000_000, dtype=np.float32)
    device = open_device("numba")
    device.workspace.hard[:] = 0
    found = bits([vkml.log(vkml.tensor(x, device="numba")) + 1.0])
    assert device.workspace.hard[:, 0].sum() > 0
    assert found == bits([vkml.log(vkml.tensor(x, device="cpu")) + 1.0])

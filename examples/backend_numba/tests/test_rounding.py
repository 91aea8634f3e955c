"""Elementary functions are correctly rounded, also where the first phase leaves the value open."""

from __future__ import annotations

import numpy as np
import pytest
import vkml
from conftest import bits, same
from vkml_core.plugins import open_device

from vkml_backend_numba import executable
from vkml_backend_numba.kernels.elementwise import FUNCTIONS
from vkml_backend_numba.kernels.operations import LIMITS


def every(step: int) -> np.ndarray:
    """Give float32 of all signs and sizes, NaN and infinities among them."""
    return np.arange(0, 2**32, step, dtype=np.uint64).astype(np.uint32).view(np.float32)


@pytest.mark.parametrize("name", sorted(LIMITS))
def test_a_sample_of_all_floats(name):
    x = every(39983)
    same(lambda d: [getattr(vkml, name)(vkml.tensor(x, device=d))])


OPEN = {
    "log": [0x3F7FFFFE, 0x3FA66C0B, 0x3FC55379, 0x3FD364D7, 0x3FDC4750],
    "exp": [0x3FE67199, 0x4001B249, 0x40315B33],
    "log2": [0x3F442160, 0x3FEDDFFD, 0x40207AB9, 0x40707492],
    "sigmoid": [0x3FD8ED9E, 0x407360F3],
}
"""Arguments whose rounding the bound of the first phase leaves open."""


def among_others(name: str) -> np.ndarray:
    x = np.linspace(0.5, 3.0, 100_003, dtype=np.float32)
    x[:: len(x) // len(OPEN[name])][: len(OPEN[name])] = np.array(OPEN[name], np.uint32).view("f4")
    return x


@pytest.mark.parametrize("name", sorted(OPEN))
def test_open_roundings_are_decided_and_kept(name):
    x, function = among_others(name), getattr(vkml, name)
    hard = open_device("numba").workspace.hard
    hard[:] = 0
    first = bits([function(vkml.tensor(x, device="numba"))])
    known = hard.copy()
    assert known[FUNCTIONS.index(name), 0] == len(OPEN[name])
    again = bits([function(vkml.tensor(x, device="numba"))])
    assert (hard == known).all()
    assert first == again == bits([function(vkml.tensor(x, device="cpu"))])


@pytest.mark.parametrize("name", sorted(OPEN))
def test_a_step_that_stops_too_often_is_the_hosts(name, monkeypatch):
    monkeypatch.setattr(executable, "MOST_TRIES", 0)
    x, function = among_others(name), getattr(vkml, name)
    hard = open_device("numba").workspace.hard
    hard[:] = 0
    found = bits([function(vkml.tensor(x, device="numba")) + 1.0])
    assert 0 < hard[FUNCTIONS.index(name), 0] <= len(OPEN[name])
    assert found == bits([function(vkml.tensor(x, device="cpu")) + 1.0])

"""Comparing the backend with the oracle: the same bits, whatever runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import pytest
import vkml
from vkml_core.plugins import register_backend, sources, unregister_backend

from vkml_backend_numba.backend import backend

Program = Callable[[str], Iterable[object]]


@pytest.fixture(autouse=True, scope="session")
def numba_device():
    """Register the backend where its distribution is not installed."""
    if "numba" in sources():
        yield
        return
    register_backend(backend)
    yield
    unregister_backend("numba")


def bits(values: Iterable[object]) -> list[tuple[str, tuple[int, ...], bytes]]:
    arrays = [v.numpy() if isinstance(v, vkml.Tensor) else np.asarray(v) for v in values]
    return [(a.dtype.name, a.shape, a.tobytes()) for a in arrays]


def same(program: Program) -> None:
    """Fail unless the program's results are the oracle's bits, lazily and eagerly."""
    found = []
    for device in ("cpu", "numba"):
        for eager in (False, True):
            vkml.manual_seed(0)
            with vkml.eager_mode(eager):
                found.append(bits(program(device)))
    assert found[0]
    for other in found[1:]:
        assert other == found[0]

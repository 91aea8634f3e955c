"""Whole runs on the device end in the oracle's bits: parameters, momenta and losses."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import needs_vulkan  # noqa: F401
import pytest
from host_leaks import offered

import vkml
from tests.oracle.digests import TRAINING
from tests.oracle.training import RUNS

ROUNDS = 4
"""How often each of two threads trains its model."""


@pytest.fixture
def on_vulkan(device: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tensors that name no device are on the first Vulkan device."""
    with offered():
        monkeypatch.setenv("VKML_DEVICE", "vulkan")
        yield


@pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])
@pytest.mark.parametrize("name", RUNS)
def test_run(name: str, eager: bool, on_vulkan: None) -> None:
    with vkml.eager_mode(eager):
        assert hashlib.sha256(RUNS[name]()).hexdigest() == TRAINING[name]


@pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])
def test_two_threads_train_two_models_at_once(eager: bool, on_vulkan: None) -> None:
    """One of them draws random numbers, whose seed all threads share."""
    found: dict[str, list[str]] = {name: [] for name in RUNS}
    start = threading.Barrier(len(RUNS))

    def train(name: str) -> None:
        start.wait()
        with vkml.eager_mode(eager):
            found[name].extend(hashlib.sha256(RUNS[name]()).hexdigest() for _ in range(ROUNDS))

    with ThreadPoolExecutor(len(RUNS)) as pool:
        for done in [pool.submit(train, name) for name in RUNS]:
            done.result(timeout=300)
    assert found == {name: [TRAINING[name]] * ROUNDS for name in RUNS}

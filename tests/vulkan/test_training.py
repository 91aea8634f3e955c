"""Whole runs on the device end in the oracle's bits: parameters, momenta and losses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import needs_vulkan  # noqa: F401
import pytest

import vkml
from tests.oracle.digests import TRAINING
from tests.oracle.training import RUNS
from vkml_backend_vulkan.backend import backend
from vkml_core import plugins


@pytest.fixture
def on_vulkan(device: object, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tensors that name no device are on the first Vulkan device."""
    plugins.register_backend(backend)
    monkeypatch.setenv("VKML_DEVICE", "vulkan")
    yield
    plugins.unregister_backend("vulkan")


@pytest.mark.parametrize("eager", [False, True], ids=["lazy", "eager"])
@pytest.mark.parametrize("name", RUNS)
def test_run(name: str, eager: bool, on_vulkan: None) -> None:
    with vkml.eager_mode(eager):
        assert hashlib.sha256(RUNS[name]()).hexdigest() == TRAINING[name]

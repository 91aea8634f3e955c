"""Fixtures of the plug-in tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from wheels import GOOD, VKML, Environment


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    """An environment with vkml and a good third-party backend."""
    made = Environment(tmp_path)
    made.install(VKML, GOOD)
    return made


@pytest.fixture
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """No device and no level is asked for by the environment."""
    for name in ("VKML_DEVICE", "VKML_REQUIRE_LEVEL"):
        monkeypatch.delenv(name, raising=False)

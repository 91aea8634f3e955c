"""The page about support is what its generator writes, and says that nothing is missing."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from vkml_core.dtypes import float32
from vkml_core.ops.spec import REGISTRY

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tool() -> ModuleType:
    path = ROOT / "tools" / "write_support.py"
    spec = importlib.util.spec_from_file_location("write_support", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_is_current(tool: ModuleType) -> None:
    assert tool.PAGE.read_text() == tool.page(), "run python tools/write_support.py"


def test_all_is_supported(tool: ModuleType) -> None:
    text = tool.PAGE.read_text()
    for backend in tool.BACKENDS:
        assert f"## {backend}: 100 % (" in text


def test_what_is_missing_shows(tool: ModuleType) -> None:
    all_rows = tool.BACKENDS["cpu"] | tool.CORE
    assert tool.cell(REGISTRY["sin"], float32, all_rows) == "✓∂"
    assert tool.cell(REGISTRY["sin"], float32, all_rows - {"cos"}) == "✓✗"
    assert tool.cell(REGISTRY["sin"], float32, all_rows - {"sin"}) == "✗"

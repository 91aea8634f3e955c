"""The pytest plug-in: `pytest --pyargs vkml_conformance --backend NAME`.

Every pytest run with vkml installed loads this file, so it imports nothing of vkml by itself.
"""

from __future__ import annotations

from typing import Final

import pytest

MODES: Final = ("quick", "default", "thorough")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the suite."""
    group = parser.getgroup("vkml-conformance", "vkml conformance suite")
    group.addoption(
        "--backend",
        metavar="NAME",
        help="backend to check: installed, or module:attribute; the suite fails without it",
    )
    group.addoption("--device-index", type=int, default=0, help="which of the backend's devices")
    group.addoption("--conformance", choices=MODES, default="quick", help="how much to check")
    group.addoption("--conformance-seed", type=int, default=0, help="seed of all values")

"""The pytest plug-in: `pytest --pyargs vkml_conformance --backend NAME`.

Every pytest run with vkml installed loads this file. So it imports nothing of vkml by itself, and
claims the option `--backend`, which other projects have too, only where the command line names the
suite; `--vkml-backend` is there always.
"""

from __future__ import annotations

import sys
from typing import Final

import pytest

BACKEND: Final = "vkml_backend"
INDEX: Final = "vkml_device_index"
MODE: Final = "vkml_mode"
SEED: Final = "vkml_seed"
SUITE: Final = "vkml_conformance"
MODES: Final = ("quick", "default", "thorough")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options of the suite."""
    group = parser.getgroup("vkml-conformance", "vkml conformance suite")
    about = "backend to check: installed, or module:attribute; the suite fails without it"
    asked = any(SUITE in argument for argument in sys.argv[1:])
    names = ("--backend", "--vkml-backend") if asked else ("--vkml-backend",)
    group.addoption(*names, dest=BACKEND, metavar="NAME", help=about)
    group.addoption("--vkml-device-index", type=int, default=0, help="which device of the backend")
    group.addoption("--vkml-mode", choices=MODES, default="quick", help="how much to check")
    group.addoption("--vkml-seed", type=int, default=0, help="seed of all values")

"""`vkml-conformance run -x` gives every broken backend its verdict, its exit code and its cause."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest
from mutants.catalogue import MUTANTS
from vkml_conformance.account import EXIT
from vkml_conformance.schema import DeviceReport, Report

SECONDS: Final = 300
HOW: Final = ("--limit", "10", "--jobs", "1")
"""One process, so that the first finding is the first one of the suite."""
Judge = Callable[[str], DeviceReport]


@pytest.fixture
def judge(tmp_path: Path) -> Judge:
    """Give a function that runs the command on a backend of the catalogue."""

    def run(name: str) -> DeviceReport:
        mutant = MUTANTS[name]
        options = ["--backend", mutant.backend, "--report", str(tmp_path), *mutant.options]
        done = subprocess.run(
            [sys.executable, "-m", "vkml_conformance.cli", "run", "-x", *HOW, *options],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
        )
        report = Report.model_validate_json((tmp_path / "report.json").read_text())
        (device,) = report.devices
        assert done.returncode == EXIT[device.verdict], done.stdout + done.stderr
        return device

    return run


@pytest.mark.parametrize("name", MUTANTS)
def test_verdict(name: str, judge: Judge) -> None:
    device, mutant = judge(name), MUTANTS[name]
    assert device.verdict == mutant.verdict, device.failure or device.findings[:1]
    if mutant.cause:
        place = device.findings[0].place
        assert place is not None and mutant.cause in place.cause, device.findings[0]

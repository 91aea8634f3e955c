"""`--attribute` of the training examples."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support import run

pytest.importorskip("sklearn")


def test_steps_are_attributed(tmp_path: Path) -> None:
    summary, pictures = tmp_path / "summary.json", tmp_path / "pictures"
    options = ["--device", "cpu", "--epochs", "1", "--limit", "320", "--batch", "32"]
    files = ["--json", str(summary), "--pictures", str(pictures)]
    done = run("digits.py", *options, "--attribute", "4", *files)
    assert done.returncode == 0, done.stderr
    assert "The best of 4 rounds took " in done.stdout and "wall time" in done.stdout
    found = json.loads(summary.read_text())["attribution"]
    assert len(found["rounds_ns"]) == 4 and found["submissions"] == 1
    assert sum(found["categories_ns"].values()) == found["wall_ns"]
    assert (pictures / "attribution.png").stat().st_size > 0
    assert json.loads((pictures / "trace.json").read_text())["traceEvents"]


def test_too_few_steps_are_said() -> None:
    options = ["--device", "cpu", "--epochs", "1", "--limit", "64", "--batch", "32"]
    done = run("digits.py", *options, "--attribute", "4")
    assert done.returncode == 0, done.stderr
    assert "nothing: there were no steps after the 3 that warm up" in done.stdout


def test_what_there_is_is_told_when_the_training_ends() -> None:
    options = ["--device", "cpu", "--epochs", "1", "--limit", "192", "--batch", "32"]
    done = run("digits.py", *options, "--attribute", "40")
    assert "The best of 3 rounds took " in done.stdout, done.stderr

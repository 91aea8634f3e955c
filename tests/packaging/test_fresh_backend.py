"""A new backend works at once where it is installed; a row less or a wrong row shows as such."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from collections import Counter
from pathlib import Path

import pytest
from vkml_conformance.new_backend import create
from vkml_conformance.schema import Report

ROOT = Path(__file__).parents[2]
PLACE = "vkml_backend_fresh/backend.py"
STATUSES = ("equal", "differing", "unsupported", "left_out", "not_run")
COMMAND = ("-m", "vkml_conformance.cli")


def call(*command: str | Path, cwd: Path, code: int = 0, path: tuple[Path, ...] = ()) -> str:
    """Run a command with this tree's vkml, and `path`, in front; give all that it printed."""
    environ = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VKML_"))}
    environ["PYTHONPATH"] = os.pathsep.join(map(str, (*path, ROOT, ROOT / "conformance")))
    done = subprocess.run(
        [str(c) for c in command], cwd=cwd, env=environ, capture_output=True, text=True, timeout=500
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Python of a new environment, beside this one's packages, and the backend installed there."""
    folder = tmp_path_factory.mktemp("a fresh environment")
    project = folder / "project"
    call(sys.executable, *COMMAND, "new-backend", project, "--name", "fresh", cwd=folder)
    call(sys.executable, "-m", "venv", folder / "venv", cwd=folder)
    python = folder / "venv" / "bin" / "python"
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    (site / "beside.pth").write_text(sysconfig.get_path("purelib") + "\n")
    call(python, "-m", "pip", "install", "--quiet", "--no-deps", "-e", project, cwd=folder)
    return python, project


def test_a_fresh_backend_passes_at_once(installed: tuple[Path, Path]) -> None:
    python, project = installed
    assert "fresh" in call(python, "-m", "vkml.cli", "devices", cwd=project)
    said = call(python, *COMMAND, "run", "--backend", "fresh", "--quick", cwd=project)
    assert "fresh: passed" in said and "vkml-backend-fresh 0.1.0" in said


def test_its_own_tests_pass(installed: tuple[Path, Path]) -> None:
    python, project = installed
    options = ("-q", "-p", "no:cacheprovider", "-k", "test_training or add-float32 or exp-float32")
    said = call(python, "-m", "pytest", *options, cwd=project)
    assert re.search(r"[4-9] passed, [1-9] skipped", said), said


def test_the_workflow_runs_commands_that_are_there(installed: tuple[Path, Path]) -> None:
    """What installs is taken as read; the rest is called with `--help`."""
    python, project = installed
    workflow = (project / ".github/workflows/test.yml").read_text()
    commands = [shlex.split(line) for line in re.findall(r"^ +- run: (.+)$", workflow, re.M)]
    assert [words[0] for words in commands] == ["pip", "pip", "pytest", "vkml-conformance"]
    said = call(python, *COMMAND, *commands[-1][1:], "--help", cwd=project)
    assert "--report" in said
    few = ("--ops", "neg", "--quick")
    call(python, *COMMAND, *commands[-1][1:], *few, cwd=project)
    assert Report.model_validate(json.loads((project / "report/report.json").read_text()))


def statuses(folder: Path, code: int, *ops: str) -> dict[str, Counter[str]]:
    """Check a project that is not installed; count what came of each operation's checks."""
    chosen = [word for op in ops for word in ("--ops", op)]
    backend = ("--backend", "vkml_backend_fresh.backend:BACKEND")
    call(
        *(sys.executable, *COMMAND, "run", *backend, "--quick", *chosen, "--report", "report"),
        cwd=folder, code=code, path=(folder,),
    )  # fmt: skip
    (device,) = json.loads((folder / "report" / "report.json").read_text())["devices"]
    found: dict[str, Counter[str]] = {}
    for line in device["lines"]:
        counts = {k: line[k] for k in STATUSES if line[k]}
        found.setdefault(line["op"], Counter()).update(counts)
    return found


def edited(folder: Path, before: str, after: str) -> Path:
    """Make a project in which one line of the backend reads otherwise."""
    create(folder / "edited", "fresh")
    place = folder / "edited" / PLACE
    text = place.read_text()
    assert text.count(before) == 1
    place.write_text(text.replace(before, after))
    return folder / "edited"


def test_a_row_that_is_deleted_is_unsupported(tmp_path: Path) -> None:
    """These have no gradient, so that no other row is part of their checks."""
    found = statuses(
        edited(tmp_path, '    "isnan": plain(np.isnan),\n', ""), 0, "isnan", "isinf", "less"
    )
    assert found["isnan"].keys() == {"unsupported"}
    assert found["isinf"].keys() == found["less"].keys() == {"equal"}


@pytest.mark.parametrize(
    ("op", "before", "after"),
    [
        ("sub", '"sub": plain(np.subtract)', '"sub": lambda attrs, a, b: b - a'),
        ("maximum", '"maximum": plain(larger)', '"maximum": plain(np.fmax)'),
        ("sum", "LANES, CHUNK, CHUNK_OF_K = 32", "LANES, CHUNK, CHUNK_OF_K = 16"),
        ("matmul", "chunk += a[..., :, k : k + 1] * b[..., k : k + 1, :]", "chunk += 0"),
        ("cast", "x >= limit, bounds.max", "x >= limit, 0"),
    ],
)
def test_a_row_that_is_broken_differs(op: str, before: str, after: str, tmp_path: Path) -> None:
    found = statuses(edited(tmp_path, before, after), 1, op, "isinf")
    assert "differing" in found[op], found
    assert found["isinf"].keys() == {"equal"}

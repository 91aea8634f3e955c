"""`vkml-conformance` as a user calls it: exit codes, messages, files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from vkml_conformance.schema import Report

HERE = Path(__file__).parent
FEW = ("--quick", "--ops", "neg", "--ops", "add", "--cases", "2")


def call(*arguments: str, code: int = 0, cwd: Path | None = None) -> str:
    environ = {**os.environ, "PYTHONPATH": str(HERE), "COLUMNS": "100"}
    command = [sys.executable, "-m", "vkml_conformance.cli", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environ, cwd=cwd, timeout=300, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_a_pass_with_all_its_files(tmp_path: Path) -> None:
    folder, certificate = tmp_path / "a folder", tmp_path / "cpu.json"
    said = call("run", "--backend", "cpu", *FEW, "--report", str(folder))
    assert "cpu: passed" in said and "Exit code 0: no difference." in said
    report = Report.model_validate_json((folder / "report.json").read_text())
    assert report.devices[0].verdict == "passed"
    assert ET.parse(folder / "junit.xml").getroot().tag == "testsuites"
    assert "<html" in (folder / "report.html").read_text()
    said = call("run", "--backend", "cpu", *FEW, "--certify", str(certificate))
    assert "No certificate" in said and not certificate.exists()


def test_differences_and_how_to_see_one_alone(tmp_path: Path) -> None:
    backend = "mutants.special:zero"
    said = call("run", "--backend", backend, *FEW, "--report", str(tmp_path), code=1)
    assert "negative zero" in said
    report = json.loads((tmp_path / "report.json").read_text())
    identity = report["devices"][0]["findings"][0]["id"]
    assert f"vkml-conformance reproduce {identity} --backend {backend}" in said
    again = call("reproduce", identity, "--backend", backend, code=1)
    assert identity in again and "import numpy" in again
    script = tmp_path / "shows.py"
    script.write_text(again[again.index('"""') :])
    environ = {**os.environ, "PYTHONPATH": str(HERE)}
    shown = subprocess.run([sys.executable, script], capture_output=True, text=True, env=environ)
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert "equal" in call("reproduce", identity, "--backend", "cpu")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "--backend", "cuda"), "no backend is called 'cuda'; installed: cpu"),
        (("run", "--device", "cpu:x"), "'cpu:x' is no device"),
        (("run", "--level", "nearly"), "--level"),
        (("run", "--jobs", "0"), "--jobs"),
        (("run", "--backend", "cpu", "--ops", "nothing"), "no check"),
        (("reproduce", "sum/float32/forward/0000000000"), "no check has the id"),
        (("verify", "missing.json"), "missing.json: cannot be read"),
        (("functions", "gamma"), "gamma"),
        (("bisect", __file__, "--device", "cpu"), "expected two"),
        (("nothing",), "nothing"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], said: str) -> None:
    assert said in call(*arguments, code=2)


def test_a_device_that_does_not_exist() -> None:
    assert "cpu offers cpu" in call("run", "--device", "cpu:7", *FEW, code=3)


def test_ids_are_listed() -> None:
    ids = call("list", "--quick", "--ops", "sum").split()
    assert ids and len(set(ids)) == len(ids)


def test_what_to_install_is_said() -> None:
    code = "import sys; sys.modules['rich'] = None; from vkml_conformance.entry import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 2 and "pip install 'vkml[conformance]'" in done.stderr


def plugin(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--rootdir", "/"]
    environ = {**os.environ, "PYTHONPATH": str(HERE)}
    return subprocess.run(
        [*command, "-c", os.devnull, "--pyargs", "vkml_conformance", *arguments],
        capture_output=True, text=True, env=environ, cwd="/", timeout=300,
    )  # fmt: skip


def test_the_plug_in_asks_for_a_backend() -> None:
    done = plugin()
    assert done.returncode != 0 and "Add --backend NAME" in done.stdout + done.stderr


def test_the_plug_in_gives_way(tmp_path: Path) -> None:
    """Other projects have the option too, and the plug-in is in every environment with vkml."""
    option = "def pytest_addoption(parser):\n    parser.addoption('--backend', default='x')\n"
    (tmp_path / "conftest.py").write_text(option)
    (tmp_path / "test_theirs.py").write_text(
        "def test_theirs(request):\n    assert request.config.getoption('--backend') == 'theirs'\n"
    )
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "-c", os.devnull]
    done = subprocess.run(
        [*command, "--rootdir", tmp_path, tmp_path, "--backend", "theirs"],
        capture_output=True, text=True, cwd=tmp_path, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0 and "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_plug_in_passes_and_fails() -> None:
    few = ("-k", "neg-float32 or sum-int32")
    done = plugin("--backend", "cpu", *few)
    assert done.returncode == 0 and "passed" in done.stdout, done.stdout
    done = plugin("--backend", "mutants.special:zero", *few)
    assert done.returncode == 1 and "negative zero" in done.stdout
    done = plugin("--backend", "mutants.process:closed", *few)
    assert done.returncode == 1 and "in use by another process" in done.stdout

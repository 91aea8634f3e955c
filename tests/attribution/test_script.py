"""`vkml attribute SCRIPT`, and configuration()."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import vkml
from vkml.cli import main
from vkml_core.configuration import configuration

SCRIPT = """
import sys
import helper
import vkml
assert __name__ == "__main__" and sys.argv[0].endswith("script.py")
x = vkml.ones(16, 16, device="cpu")
print("sum", (x @ x).sum().item(), *sys.argv[1:])
if "fail" in sys.argv: raise ValueError("by design")
if "3" in sys.argv: sys.exit(3)
if "0" in sys.argv: sys.exit(0)
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "helper.py").write_text("")
    (tmp_path / "script.py").write_text(SCRIPT)
    return str(tmp_path / "script.py")


def test_a_script_is_run_and_explained(
    script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sys.argv, sys.path[:]
    files = [f"--json={tmp_path / 'r.json'}", f"--trace={tmp_path / 't.json'}"]
    assert main(["attribute", "--rounds", "2", *files, script, "--its-own", "0"]) == 0
    assert (sys.argv, sys.path) == before
    said = capsys.readouterr().out
    assert said.count("sum 4096.0 --its-own 0\n") == 2
    assert "wall time" in said and "The best of 2 rounds took " in said and "matmul 16×16" in said
    found = json.loads((tmp_path / "r.json").read_text())
    assert len(found["rounds_ns"]) == 2 and found["devices"].keys() == {"cpu"}
    assert json.loads((tmp_path / "t.json").read_text())["traceEvents"]


@pytest.mark.parametrize(("argument", "status"), [("fail", 1), ("3", 3)])
def test_a_script_that_fails(
    script: str, argument: str, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["attribute", script, argument])
    assert ended.value.code == status
    said = capsys.readouterr()
    assert "wall time" not in said.out
    assert ("ValueError: by design" in said.err) == (argument == "fail")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["no/such/script.py"], "there is no script"),
        (["--rounds", "0", __file__], "--rounds: expected a whole number from 1, got 0"),
    ],
)
def test_what_cannot_be_run(
    arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["attribute", *arguments])
    assert ended.value.code == 2
    assert what in capsys.readouterr().out


def test_the_configuration_is_plain_and_complete() -> None:
    vkml.ones(2, device="cpu").realize()
    vkml.record_decisions()
    found = json.loads(json.dumps(configuration()))
    vkml.stop_recording_decisions()
    assert found.keys() == {
        "versions",
        "settings",
        "eager",
        "default_device",
        "devices",
        "plans",
        "decisions",
    }
    assert found["versions"]["vkml"] == vkml.__version__
    assert found["devices"]["cpu"]["level"] == "exact"
    assert found["decisions"] == {"published": 0, "kept": {}}
    with vkml.eager_mode():
        assert configuration()["eager"] is True

"""The processes in which `vkml doctor` and errors try backends: how many, and that each ends."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from test_broken_wheels import FULL
from wheels import GOOD, ROOT, VKML, WHOLE, Environment, Wheel


@pytest.fixture
def sleeper(tmp_path: Path) -> Environment:
    """A backend whose probe tells its process and starts another one, and neither ends."""
    made = Environment(tmp_path)
    source = (
        f"{FULL}\nimport os, subprocess, sys, time\nNAME = 'sleeper'\ndef probe():\n"
        "    child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"    with __builtins__['open']({str(tmp_path / 'pids')!r}, 'w') as file:\n"
        "        print(os.getpid(), child.pid, file=file)\n"
        "    time.sleep(60)\n"
    )
    made.install(
        VKML, Wheel("vkml-sleeper", {"sleeper": "vkml_sleeper"}, {"vkml_sleeper.py": source})
    )
    return made


def until(condition: object, seconds: float = 20.0) -> None:
    assert callable(condition)
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def runs(pid: int) -> bool:
    """Whether a process is there and no zombie that waits for its parent."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="there is no /proc here")
@pytest.mark.parametrize("how", ["interrupted", "nobody reads on"])
def test_no_process_is_left_behind(how: str, sleeper: Environment, tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": f"{sleeper.site}{os.pathsep}{ROOT}"}
    command = subprocess.Popen(
        [sys.executable, "-m", "vkml.cli", "doctor"],
        env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert command.stdout is not None and command.stderr is not None
    assert command.stdout.readline() == b"Python and packages\n"
    pids = tmp_path / "pids"
    until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    if how == "interrupted":
        command.send_signal(2)
    else:
        command.stdout.close()  # the next line that is written finds nobody
    assert command.wait(20) == (130 if how == "interrupted" else 1)
    assert command.stderr.read() == (b"Interrupted.\n" if how == "interrupted" else b"")
    command.stdout.close()
    command.stderr.close()
    until(lambda: not any(runs(int(pid)) for pid in pids.read_text().split()))


COUNT = """
import os, sys
from pathlib import Path

def count(event, arguments):
    if event == "subprocess.Popen":
        with Path({file!r}).open("a") as f:
            f.write(f"{{arguments[1]}}\\n")

sys.addaudithook(count)
"""
"""Writes down the command of each process that is started."""


@pytest.mark.parametrize("command", ["doctor", "devices"])
def test_each_backend_from_outside_costs_one_process(command: str, tmp_path: Path) -> None:
    """Also the second time for Vulkan: a driver that was met is not tested again."""
    environment = Environment(tmp_path)
    environment.install(WHOLE, GOOD)
    environment.run("-m", "vkml.cli", command)
    file = tmp_path / "started"
    (environment.site / "sitecustomize.py").write_text(COUNT.format(file=str(file)))
    assert environment.run("-m", "vkml.cli", command).returncode == 0
    started = [x for x in file.read_text().splitlines() if "uname" not in x]  # Python's platform
    assert len(started) == 2 and all("vkml_core.trials" in line for line in started), started


def test_wrong_names_cost_a_process_until_a_backend_has_worked(tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    failing = Wheel("vkml-failing", {"failing": "vkml_gone"})
    environment.install(VKML, GOOD, failing)
    file = tmp_path / "started"
    (environment.site / "sitecustomize.py").write_text(COUNT.format(file=str(file)))
    environment.run("-c", WRONG_NAMES)
    started = [x for x in file.read_text().splitlines() if "uname" not in x]
    names = [re.findall(r"vkml-(good|failing)", line)[0] for line in started]
    assert sorted(names) == ["failing"] * 3 + ["good"], names


WRONG_NAMES = """
from vkml_core.plugins import open_device
for _ in range(3):
    try:
        open_device("gold")
    except RuntimeError as error:
        assert "available: cpu, good; what failed: failing" in str(error), error
    else:
        raise AssertionError
"""

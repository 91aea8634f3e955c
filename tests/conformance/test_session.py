"""Runs in processes: a crash, a hang or a kill ends neither the run nor what was found before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from vkml_conformance import session, supervise
from vkml_conformance.account import Counts, exit_code
from vkml_conformance.journal import Reader, Writer
from vkml_conformance.schema import DeviceReport, Selection
from waiting import WAITED

FEW = Selection(mode="quick", ops=("add", "cumsum", "argsort"), cases=2)


def run(backend: str, selection: Selection = FEW, **how: Any) -> DeviceReport:
    (device,) = session.run([(backend, 0)], selection, **how).devices
    return device


def counts(device: DeviceReport, op: str = "") -> Counts:
    return Counts.of(line for line in device.lines if not op or line.op == op)


@pytest.mark.parametrize("jobs", [1, 3])
def test_the_oracle_passes(jobs: int) -> None:
    device = run("cpu", jobs=jobs)
    found = counts(device)
    assert device.verdict == "passed" and found.equal == found.cases - found.left_out > 20
    assert device.results == run("cpu", jobs=2).results


def test_a_crash_costs_the_rest_of_its_operation() -> None:
    device = run("mutants.process:crash", jobs=1)
    assert device.verdict == "crashed" and "SIGABRT" in device.failure
    assert counts(device, "add").equal == counts(device, "add").cases
    crashed = [f for f in device.findings if f.status == "crash"]
    assert [f.op for f in crashed] == ["cumsum"] * supervise.PATIENCE
    assert "Fatal Python error: Aborted" in crashed[0].message
    assert counts(device).not_run == counts(device, "cumsum").not_run


def test_a_hang_is_ended() -> None:
    device = run("mutants.process:hang", jobs=1, limit=5.0)
    assert device.verdict == "timed out" and "nothing came for 5 s" in device.failure
    assert counts(device, "add").equal == counts(device, "add").cases
    assert counts(device).differing == 1 and counts(device, "argsort").not_run


def test_a_hang_while_loading_is_ended() -> None:
    device = run("mutants.process:probing", limit=2.0)
    assert device.verdict == "timed out" and "while it was loaded" in device.failure
    assert counts(device).not_run == counts(device).cases


def test_a_backend_in_several_processes_that_cannot_load() -> None:
    report = session.run([("mutants.process:closed", 0), ("cpu", 0)], FEW, jobs=2)
    closed, cpu = report.devices
    assert closed.verdict == "failed to load" and "in use by another process" in closed.failure
    assert cpu.verdict == "passed" and exit_code(report) == 3


def test_a_killed_process_loses_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    started: list[int] = []
    killed: list[int] = []
    start = supervise.Lane.start

    def noting(lane: supervise.Lane) -> None:
        start(lane)
        assert lane.process is not None
        started.append(lane.process.pid)

    def kill(device: str, done: int, total: int, differing: int, current: str) -> None:
        if current.startswith("cumsum/") and not killed:  # this check ends in no other way
            killed.extend(started)
            os.kill(started[0], signal.SIGKILL)

    monkeypatch.setenv(WAITED, str(tmp_path / "waited"))
    monkeypatch.setattr(supervise.Lane, "start", noting)
    device = run("waiting:backend", jobs=1, told=kill, folder=tmp_path)
    found = counts(device)
    assert killed == started[:1] and len(started) == 2
    assert device.verdict == "crashed" and "SIGKILL" in device.failure
    assert found.not_run == 0 and found.equal + found.left_out == found.cases - 1
    assert len(list((tmp_path / "journals" / "device-0").glob("*.jsonl"))) == 2


def test_the_first_difference_ends_it() -> None:
    device = run("mutants.special:zero", Selection(mode="quick", ops=("neg",)), stop_at_first=True)
    assert device.verdict == "differs" and len(device.findings) == 1
    assert counts(device).not_run


def test_a_script_comes_with_the_first_finding_of_a_row() -> None:
    device = run("mutants.special:zero", Selection(mode="quick", ops=("neg",)), jobs=1)
    with_script = [f for f in device.findings if f.script]
    assert {(f.op, f.dtype, f.part) for f in with_script} == {
        (f.op, f.dtype, f.part) for f in device.findings
    }
    assert "mutants.special" in with_script[0].script


def test_another_record_of_the_oracle_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "recorded", lambda suite: {"add/float32/forward": "0" * 32})
    device = run("cpu")
    assert device.verdict == "differs"
    assert [f.id for f in device.findings] == ["recorded/add/float32/forward"]


def test_half_an_entry_waits(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    reader = Reader(path)
    assert list(reader.read()) == []
    writer = Writer(path)
    writer.write(at=1)
    with path.open("ab") as file:
        file.write(b'{"done": 1, "sta')
        file.flush()
        assert list(reader.read()) == [{"at": 1}]
        file.write(b'tus": "equal"}\n')
    assert list(reader.read()) == [{"done": 1, "status": "equal"}]
    assert list(reader.read()) == []


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    options = ("--backend", "mutants.process:hang", "--ops", "argsort", "--report", tmp_path)
    command = [sys.executable, "-m", "vkml_conformance.cli", "run", "--quick", *options]
    environ = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    quiet = subprocess.DEVNULL
    parent = subprocess.Popen(command, env=environ, stdout=quiet, stderr=quiet)
    try:
        until(lambda: list(tmp_path.glob("journals/*/*.jsonl")))
        assert workers(tmp_path)
    finally:
        parent.kill()
        parent.wait()
    until(lambda: not workers(tmp_path))


def until(holds: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait for something."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def workers(folder: Path) -> list[str]:
    """Give the processes whose command line names the folder, but for the parent."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            line = (process / "cmdline").read_bytes().decode()
            if "vkml_conformance.worker" in line and str(folder) in line:
                found.append(process.name)
    return found

"""`vkml doctor` where plug-ins crash or hang: the cause and the cure are told, the rest is shown.

Every broken wheel is installed in one environment, so that one run of the command meets them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from test_broken_wheels import FULL
from wheels import GOOD, VKML, Environment, Wheel

from vkml_core.trials.ending import ending

LIMIT = 5
"""Seconds, many more than what works takes on a machine with other work."""


@dataclass(frozen=True)
class Case:
    """What a module does besides being a good backend; where it stops; what must be told."""

    source: str
    stage: str
    told: tuple[str, ...]
    device: str = ""
    """The device that fails, where it is not the backend."""


LATE = f"did not come to an end within {LIMIT} s and was stopped"
CASES = {
    "crash-import": Case("import ctypes; ctypes.string_at(0)", "load", ("SIGSEGV", "<module>")),
    "crash-probe": Case(
        "import ctypes\ndef probe(): return ctypes.string_at(0)", "probe", ("SIGSEGV", "in probe")
    ),
    "crash-devices": Case(
        "import os\ndef devices(): os.kill(os.getpid(), 4)", "probe", ("SIGILL", "in devices")
    ),
    "crash-open": Case(
        "import ctypes\n"
        "def devices(): return [DeviceInfo(i, f'number {i}', 'cpu') for i in range(3)]\n"
        "def open(index): return ctypes.string_at(0) if index == 1 else Device()",
        "open",
        ("SIGSEGV", "in open"),
        device="crash-open:1",
    ),
    "abort": Case(
        "import ctypes, os\n"
        "def probe(): os.write(2, b'free(): invalid pointer\\n'); ctypes.CDLL(None).abort()",
        "probe",
        ("SIGABRT", "free(): invalid pointer"),
    ),
    "killed": Case(
        "import os\ndef probe(): os.kill(os.getpid(), 9)", "probe", ("was killed by SIGKILL",)
    ),
    "leaves": Case("import os\ndef probe(): os._exit(0)", "probe", ("ended by itself", "status 0")),
    "leaves-a-child": Case(
        "import os, time\ndef probe():\n    if os.fork() == 0: time.sleep(60)\n    os._exit(7)",
        "probe",
        ("ended by itself", "status 7"),
    ),
    "hang-import": Case("import time; time.sleep(60)", "load", (LATE, "in <module>")),
    "hang-probe": Case(
        "import os, time\ndef probe(): os.write(2, b'looking\\n'); time.sleep(60)",
        "probe",
        (LATE, "in probe", "looking", f"`vkml doctor --limit {3 * LIMIT}` waits longer"),
    ),
    "hang-in-c": Case(
        "import ctypes\ndef probe(): ctypes.PyDLL(None).pause()", "probe", (LATE, "in probe")
    ),
    "deaf": Case(
        "import signal, time\ndef devices():\n"
        "    for s in (2, 15): signal.signal(s, signal.SIG_IGN)\n"
        "    time.sleep(60)",
        "probe",
        (LATE, "in devices"),
    ),
    "says-anything": Case(
        "def probe(): return Unavailable('caf\\udce9 ✓\\nline two', 'cure it')",
        "probe",
        ("caf\\udce9 ✓ line two", "cure it"),
    ),
    "noisy": Case(
        "import os\nos.write(1, b'{}' * 99999)\ndef probe(): raise OSError('after noise')",
        "probe",
        ("OSError: after noise",),
    ),
    "asks": Case(
        "import vkml_core.plugins\ndef probe(): vkml_core.plugins.open_device('nobody')",
        "probe",
        ("no backend is called 'nobody'", "; not tried, since this process is a trial itself: "),
    ),
}
CURE = "VKML_EXCLUDE={} keeps best_device() and available_devices() away from it"
"""What is told of every backend that took its process along."""


def broken(name: str) -> Wheel:
    module = f"vkml_{name.replace('-', '_')}"
    source = f"{FULL}\nNAME = {name!r}\n{CASES[name].source}\n"
    return Wheel(f"vkml-{name}", {name: module}, {f"{module}.py": source})


@pytest.fixture(scope="module")
def ward(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment(tmp_path_factory.mktemp("ward"))
    made.install(VKML, GOOD, *map(broken, CASES))
    return made


@pytest.fixture(scope="module")
def told(ward: Environment) -> list[str]:
    done = ward.run("-m", "vkml.cli", "doctor", "--limit", str(LIMIT))
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.parametrize("name", CASES)
def test_the_cause_and_the_cure_are_told(name: str, told: list[str]) -> None:
    case = CASES[name]
    (place,) = (
        i for i, line in enumerate(told) if line.split()[:1] == [case.device or name]
        and ("stopped" in line or "could not be opened" in line)
    )  # fmt: skip
    assert case.device or told[place].endswith(f"stopped at {case.stage}")
    assert case.device or f"vkml-{name} 1.2.3" in told[place]
    reason, cure = told[place + 1 : place + 3]
    assert reason.startswith(f"    failed at {case.stage}: ")
    assert cure.startswith("    cure: ")
    assert all(text in reason + cure for text in case.told), (reason, cure)
    if "its process" in reason:
        assert f"update or reinstall vkml-{name}" in cure and CURE.format(name) in cure


def test_everything_else_is_shown(told: list[str]) -> None:
    devices = [line.split()[0] for line in told if ", level exact" in line]
    assert [d for d in devices if d != "Best"] == ["cpu", "crash-open", "crash-open:2", "good"]
    assert told[-2] == "Default device: cpu"
    assert told[-1].startswith("Best device: cpu is the CPU backend")
    assert "hang-probe" in told[-1] and told[-1].endswith("is explained above.")


def test_it_is_told_what_is_waited_for(told: list[str]) -> None:
    waiting = [line.split()[0] for line in told if " waiting: " in line]
    assert len(set(waiting)) == len(waiting)
    assert all(f"{LIMIT} s" in line for line in told if " waiting: " in line)


def test_devices_lists_what_works(tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    names = ("crash-probe", "crash-open", "hang-probe")
    environment.install(VKML, GOOD, *map(broken, names))
    done = environment.run("-m", "vkml.cli", "devices", "--limit", "8")
    assert (done.returncode, done.stderr) == (0, "")
    rows = {line.split()[0]: line for line in done.stdout.splitlines() if line[:2] == "  "}
    assert rows.keys() == {
        "good",
        "crash-open",
        "crash-open:2",
        *(CASES[n].device or n for n in names),
    }
    assert all("unavailable" in rows[CASES[name].device or name] for name in names)
    last = done.stdout.splitlines()[-1]
    assert last.endswith("(crash-open:1, crash-probe, hang-probe) is explained by `vkml doctor`.")


PROGRAM = """
import json, sys, time
import vkml

def message(name):
    try:
        vkml.device(name)
    except vkml.DeviceError as error:
        return str(error)

answer = {"good": vkml.device("good").kind, "unknown": message("gold"), "odd": message("Cpu")}
answer["loaded"] = sorted(m for m in sys.modules if m.startswith("vkml_crash"))
print(json.dumps(answer))
"""


def test_an_unknown_name_does_not_take_the_program_along(tmp_path: Path) -> None:
    """Though the error tells what is available and what failed, as the others do."""
    environment = Environment(tmp_path)
    environment.install(VKML, GOOD, broken("crash-import"), broken("crash-probe"))
    answer = environment.answer(PROGRAM)
    assert answer["good"] == "cpu" and answer["loaded"] == []
    assert "did you mean 'good'?" in answer["unknown"]
    for message in (answer["unknown"], answer["odd"]):
        assert "available: cpu, good; what failed: crash-import" in message
        assert message.count("killed by SIGSEGV") == 2


ASKING = """
import json
from vkml_core.errors import PluginError
from vkml_core.plugins import open_device
try:
    open_device("asks")
except PluginError as error:
    print(json.dumps(str(error)))
"""


def test_a_probe_that_asks_for_an_unknown_device_ends(tmp_path: Path) -> None:
    """The error that it meets tries the other backends, but not this one for ever."""
    environment = Environment(tmp_path)
    environment.install(VKML, GOOD, broken("asks"))
    told = environment.answer(ASKING)
    assert told.startswith("device: asks (vkml-asks 1.2.3) failed at probe: DeviceError: ")
    assert "available: cpu, good; what failed: asks (vkml-asks 1.2.3) failed at probe" in told
    assert told.count("failed at probe") == 2


EXCLUDED = """
import json
import vkml
from vkml_core.errors import PluginError
answer = [vkml.available_devices(), vkml.best_device()]
try:
    vkml.device("says-anything").kind
except PluginError as error:
    answer.append(ascii(error))
print(json.dumps(answer))
"""


def test_what_is_excluded_is_tried_only_where_it_is_named(tmp_path: Path) -> None:
    environment = Environment(tmp_path)
    environment.install(VKML, GOOD, broken("crash-probe"), broken("says-anything"))
    variables = {"VKML_EXCLUDE": "crash-probe, says-anything,not-there"}
    available, best, named = environment.answer(EXCLUDED, **variables)
    assert available == ["cpu", "good"] and best[0] == "cpu" and "what failed" not in best[1]
    assert "cure it" in named
    done = environment.run("-m", "vkml.cli", "doctor", **variables)
    assert "stopped at probe, left out by VKML_EXCLUDE\n" in done.stdout
    assert "what failed" not in done.stdout.splitlines()[-1]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("good:0", "Default device: good"),
        ("good:3", "Default device: none: VKML_DEVICE=good:3: there is no good:3, but good; unset"),
        ("gold", "VKML_DEVICE=gold: no backend is called 'gold' (did you mean 'good'?); unset"),
        ("crash-probe", "VKML_DEVICE=crash-probe: crash-probe (vkml-crash-probe 1.2.3) failed at"),
    ],
)
def test_the_default_device_is_told(name: str, told: str, default: Environment) -> None:
    done = default.run("-m", "vkml.cli", "doctor", VKML_DEVICE=name)
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("Default device"))
    assert done.returncode == 0 and told in line


@pytest.fixture(scope="module")
def default(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    made = Environment(tmp_path_factory.mktemp("default"))
    made.install(VKML, GOOD, broken("crash-probe"))
    return made


@pytest.mark.parametrize("limit", ["0", "-1", "nan", "inf", "soon", "1e9"])
def test_a_limit_that_is_none_is_refused(limit: str, capsys: pytest.CaptureFixture[str]) -> None:
    from vkml.cli import main

    with pytest.raises(SystemExit):
        main(["doctor", f"--limit={limit}"])
    assert "--limit" in capsys.readouterr().err


TRACE = """murmur
Fatal Python error: Segmentation fault

Thread 0x1 (most recent call first):
  File "/x/other.py", line 1 in wait

Current thread 0x2 (most recent call first):
  File "<frozen importlib._bootstrap>", line 9 in load
  File "/x/site-packages/mine.py", line 3 in probe
  File "/x/cli.py", line 4 in main
"""


@pytest.mark.parametrize(
    ("status", "err", "said"),
    [
        (-11, TRACE, "was killed by SIGSEGV (/x/site-packages/mine.py, line 3, in probe) (murmur)"),
        (-11, "", "was killed by SIGSEGV"),
        (-99, "", "was killed by signal 99"),
        (2, "Traceback:\nOSError: x\n", "ended by itself with status 2 (OSError: x)"),
        (1, "Timeout (0:00:05)!\nThread 0x1 (most recent call first):\n", LATE),
        (None, "", LATE),
    ],
)
def test_endings_in_words(status: int | None, err: str, said: str) -> None:
    assert ending(status, err.encode(), LIMIT) == f"its process {said}"


def test_a_process_that_does_not_start_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    from vkml_core.discovery import Source
    from vkml_core.trials.running import Trials

    def refuses(*arguments: object, **more: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr("vkml_core.trials.process.subprocess.Popen", refuses)
    with Trials([Source("x", "vkml-x", "1", print, "x:x")]) as trials:
        failure = trials.of("x").failures["x"]
    assert "did not start ([Errno 11] Resource temporarily unavailable)" in failure.error


def test_a_stage_that_is_told_in_part_counts_as_not_told() -> None:
    """The process may be killed while it writes."""
    from vkml_core.trials.running import last
    from vkml_core.trials.trial import Trial

    whole = Trial(stage="probe").to_json().encode()
    assert last(whole + b"\n" + whole[:20], Trial()).stage == "probe"
    assert last(whole[:20], Trial()).stage == "load"

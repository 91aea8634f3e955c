"""Broken plug-ins of every kind: vkml imports, other backends work, and the reason is told."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import pytest
from wheels import GOOD, VKML, Environment, Wheel

FULL = """
from vkml_core.backend import Available, Capabilities, DeviceInfo, Unavailable

NAME = "broken"
API_VERSION = (1, 0)

class Device:
    name = "a device"
    kind = "cpu"
    def capabilities(self): return Capabilities(ops=frozenset({"add"}))
    def upload(self, array): return array
    def download(self, buffer, shape, dtype): return buffer
    def compile(self, plan): raise NotImplementedError
    def synchronize(self): pass
    def stats(self): return {}
    def report(self): return {}

def probe(): return Available()
def devices(): return [DeviceInfo(0, "a device", "cpu")]
def open(index): return Device()
"""
"""A complete backend as a module; each case breaks one thing of it."""


@dataclass(frozen=True)
class Case:
    """What the module `vkml_broken` does, where it is stopped and what must be told."""

    source: str
    stage: str
    told: tuple[str, ...]
    target: str = "vkml_broken"


def table(rows: str) -> str:
    return (
        "from vkml_core.table_backend import table_backend\n"
        f"BACKEND = table_backend('broken', {rows}, api_version=(1, 0))"
    )


CASES = {
    "raises on import": Case(
        "raise RuntimeError('first line\\nsecond line')", "load", ("RuntimeError: first line",)
    ),
    "missing shared library": Case(
        "import ctypes; ctypes.CDLL('libvkml_not_there.so.9')",
        "load",
        ("OSError: libvkml_not_there.so.9", "install the file or shared library"),
    ),
    "exits on import": Case("raise SystemExit(3)", "load", ("SystemExit: 3",)),
    "needs a missing module": Case(
        "import vkml_needs_this",
        "load",
        ("No module named 'vkml_needs_this'", "install what provides the module"),
    ),
    "leads to a missing module": Case("", "load", ("vkml_gone",), target="vkml_gone"),
    "leads to a missing attribute": Case(
        "", "load", ("AttributeError", "BACKEND"), target="vkml_broken:BACKEND"
    ),
    "newer API major": Case(
        f"{FULL}\nAPI_VERSION = (2, 5)",
        "version",
        ("backend API 2.5", "speaks 1.2", "a newer vkml, from where this one came"),
    ),
    "older API major": Case(
        f"{FULL}\nAPI_VERSION = (0, 9)",
        "version",
        ("backend API 0.9", "speaks 1.2", "a newer vkml-broken (pip install -U vkml-broken)"),
    ),
    "malformed API version": Case(f"{FULL}\nAPI_VERSION = '1.0'", "version", ("'1.0'",)),
    "missing attributes": Case(
        "NAME = 'broken'\nAPI_VERSION = (1, 0)\ndef probe(): pass",
        "check",
        ("devices is missing", "open is missing"),
    ),
    "no API version": Case(
        f"{FULL}\ndel API_VERSION, NAME", "check", ("NAME is missing", "API_VERSION is missing")
    ),
    "wrong signature": Case(f"{FULL}\ndef open(): pass", "check", ("open must take 1 arguments",)),
    "other name": Case(f"{FULL}\nNAME = 'another'", "check", ("'another'", "'broken'")),
    "a class": Case("class B: pass", "check", ("B is a class",), target="vkml_broken:B"),
    "unknown operation in the table": Case(
        table("{'frobnicate': lambda attrs, a: a}"),
        "check",
        ("backend 'broken'", "row 'frobnicate'", "no operation of vkml has that name"),
        target="vkml_broken:BACKEND",
    ),
    "wrong arity in the table": Case(
        table("{'add': lambda attrs, a: a, 'cat': lambda attrs, a, b: a}"),
        "check",
        (
            "backend 'broken'",
            "row 'add': a kernel is called as kernel(attrs, array0, array1)",
            "row 'cat': a kernel is called as kernel(attrs, *arrays)",
        ),
        target="vkml_broken:BACKEND",
    ),
    "probe raises": Case(
        f"{FULL}\ndef probe(): raise OSError('no loader')", "probe", ("OSError: no loader",)
    ),
    "probe exits": Case(f"{FULL}\ndef probe(): raise SystemExit", "probe", ("SystemExit",)),
    "unavailable": Case(
        f"{FULL}\ndef probe(): return Unavailable('no driver', 'install a driver')",
        "probe",
        ("no driver", "install a driver"),
    ),
    "probe gives nonsense": Case(f"{FULL}\ndef probe(): return True", "probe", ("gave True",)),
    "devices raises": Case(
        f"{FULL}\ndef devices(): raise ValueError('lost')", "probe", ("ValueError: lost",)
    ),
    "no devices": Case(f"{FULL}\ndef devices(): return []", "probe", ("no device here",)),
    "unknown kind of device": Case(
        f"{FULL}\ndef devices(): return [DeviceInfo(0, 'x', 'abacus')]", "probe", ("'abacus'",)
    ),
    "odd device indices": Case(
        f"{FULL}\ndef devices(): return [DeviceInfo(1, 'x', 'cpu')]", "probe", ("[1]",)
    ),
    "open raises": Case(
        f"{FULL}\ndef open(index): raise MemoryError('full')", "open", ("MemoryError: full",)
    ),
    "half a device": Case(
        f"{FULL}\ndel Device.upload, Device.kind",
        "check",
        ("kind is missing", "upload is missing"),
    ),
    "unknown operation in the capabilities": Case(
        f"{FULL}\nDevice.capabilities = lambda self: Capabilities(ops=frozenset({{'add', 'zap'}}))",
        "check",
        ("row 'zap'", "no operation of vkml has that name"),
    ),
    "capabilities of a wrong type": Case(
        f"{FULL}\nDevice.capabilities = lambda self: None", "check", ("NoneType",)
    ),
}

PROBE = """
import contextlib, io, json, sys
import vkml_core, vkml_core.plugins as plugins
from vkml_core.errors import DeviceError

def message(name):
    try:
        plugins.open_device(name)
    except DeviceError as error:
        return str(error)
    return "opened"

answer = {
    "lazy": "importlib_metadata" not in sys.modules and not any(
        m.startswith(("vkml_broken", "vkml_good", "vkml_backend")) for m in sys.modules
    ),
    "good": plugins.open_device("good").name,
    "loaded": sorted(m for m in sys.modules if m.startswith(("vkml_broken", "vkml_backend"))),
    "broken": message("broken"),
    "cpu": message("cpu"),
    "unknown": message("nope"),
    "available": plugins.available_devices(),
    "best": plugins.best_device(),
    "failures": [
        [getattr(f, k) for k in ("name", "distribution", "version", "stage", "error", "advice")]
        for f in plugins.failures()
    ],
}
from vkml.cli import main
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    answer["exit"] = main(["doctor"])
answer["doctor"] = printed.getvalue()
print(json.dumps(answer))
"""


@pytest.mark.parametrize("name", CASES)
def test_broken_plugin_is_contained_and_explained(name: str, environment: Environment) -> None:
    case = CASES[name]
    environment.install(
        Wheel("vkml-broken", {"broken": case.target}, {"vkml_broken.py": case.source})
    )
    answer = environment.answer(PROBE)
    assert answer["lazy"]
    assert answer["good"] == "a good one"
    assert answer["loaded"] == []
    assert answer["cpu"] == "opened"
    assert {"cpu", "good"} <= set(answer["available"])
    (failure,) = answer["failures"]
    assert failure[:4] == ["broken", "vkml-broken", "1.2.3", case.stage]
    assert failure[5]
    for text in (*case.told, failure[4]):
        assert text in " ".join(failure)
        assert text in answer["broken"]
        assert text in answer["doctor"]
        assert text in answer["best"][1]
    assert "vkml-broken 1.2.3" in answer["doctor"]
    assert answer["best"][0] == "cpu"
    assert answer["exit"] == 0


@pytest.mark.parametrize("name", ["raises on import", "missing shared library", "unavailable"])
def test_unknown_name_tells_what_failed(name: str, environment: Environment) -> None:
    case = CASES[name]
    environment.install(
        Wheel("vkml-broken", {"broken": case.target}, {"vkml_broken.py": case.source})
    )
    told = environment.answer(UNKNOWN)
    assert "no backend is called 'gold' (did you mean 'good'?)" in told
    assert "available: cpu, good" in told
    assert f"broken (vkml-broken 1.2.3) failed at {case.stage}" in told
    assert all(text in told for text in case.told)


UNKNOWN = """
import json
from vkml_core.plugins import open_device
try:
    open_device("gold")
except RuntimeError as error:
    print(json.dumps(str(error)))
"""


def test_two_distributions_with_one_name(environment: Environment) -> None:
    environment.install(
        Wheel("vkml-one", {"broken": "vkml_one"}, {"vkml_one.py": FULL}),
        Wheel("vkml-two", {"broken": "vkml_two"}, {"vkml_two.py": FULL}, version="9"),
    )
    answer = environment.answer(PROBE)
    (failure,) = answer["failures"]
    assert failure[3] == "find"
    for told in (answer["broken"], answer["doctor"], answer["unknown"]):
        assert "vkml-one 1.2.3" in told
        assert "vkml-two 9" in told
    assert answer["available"] == ["cpu", "good"]
    assert answer["cpu"] == "opened"
    assert answer["loaded"] == []


def test_a_distribution_that_claims_cpu(environment: Environment) -> None:
    environment.install(Wheel("impostor", {"cpu": "impostor"}, {"impostor.py": FULL}))
    answer = environment.answer(PROBE)
    for told in (answer["cpu"], answer["doctor"], answer["best"][1]):
        assert "impostor 1.2.3" in told
        assert "vkml 0.1.0" in told
    assert answer["good"] == "a good one"
    assert answer["available"] == ["good"]
    assert answer["best"][0] == "good"
    assert answer["exit"] == 0


def test_one_distribution_seen_twice_is_no_conflict(
    environment: Environment, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """An older copy further down the path is hidden, as it is for imports."""
    older = Environment(tmp_path_factory.mktemp("older"))
    older.install(Wheel("Vkml.Good", GOOD.backends, GOOD.files, version="0.0.1"))
    answer = environment.answer(f"import sys; sys.path.append({str(older.site)!r})\n{PROBE}")
    assert answer["good"] == "a good one"
    assert answer["failures"] == []


def test_doctor_fails_where_nothing_works(tmp_path: Any) -> None:
    environment = Environment(tmp_path)
    broken = Wheel("vkml", {"cpu": "vkml_gone"}, version="0.1.0")
    environment.install(broken)
    done = environment.run("-m", "vkml.cli", "doctor")
    assert done.returncode == 1
    assert "vkml_gone" in done.stdout
    assert "No device works" in done.stdout
    assert done.stderr == ""


def test_metadata_that_cannot_be_read_is_told(environment: Environment) -> None:
    """The package that reads entry points is broken itself: no traceback, but what to mend."""
    torn = "raise ImportError('torn')"
    environment.install(Wheel("shadow", {}, {"importlib_metadata.py": torn}))
    done = environment.run("-m", "vkml.cli", "doctor")
    assert done.returncode == 1 and "Traceback" not in done.stdout + done.stderr
    assert "importlib-metadata does not import: torn" in done.stdout
    assert "pip install --force-reinstall importlib-metadata" in done.stdout
    told = environment.run("-c", "import vkml; vkml.zeros(1).numpy()")
    assert "no backend is called 'cpu'" in told.stderr and "ImportError: torn" in told.stderr


def test_a_wrong_setting_is_told_first(environment: Environment) -> None:
    done = environment.run("-m", "vkml.cli", "doctor", VKML_EAGER="perhaps")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "VKML_EAGER: expected 0 or 1, got 'perhaps'\n"


def test_devices_marks_the_best(environment: Environment) -> None:
    done = environment.run("-m", "vkml.cli", "devices")
    assert done.returncode == 0, done.stderr
    first, second, last = done.stdout.splitlines()
    assert first.startswith("* cpu ")
    assert second.split() == ["good", "cpu", "a", "good", "one"]
    assert last.startswith("* best: cpu is the CPU backend")


@pytest.mark.skipif(importlib.util.find_spec("pip") is None, reason="pip is not installed here")
def test_wheels_are_ones_that_pip_installs(tmp_path: Any) -> None:
    environment = Environment(tmp_path)
    environment.install_by_pip(VKML, GOOD)
    answer = environment.answer(PROBE)
    assert answer["good"] == "a good one"
    assert answer["failures"] == []

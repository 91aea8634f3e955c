"""The self-test: its verdicts, what it refuses, and that a driver's end is not the program's."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import needs_vulkan  # noqa: F401
import numpy as np
import pytest

from tests.oracle.run import assert_same_bits
from tests.vulkan.probes import spoilt
from tests.vulkan.single import Source, plan_of, result
from vkml_backend_cpu.backend import backend as oracle
from vkml_core.errors import DeviceError
from vkml_core.ops.spec import REGISTRY, Kind

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice
    from vkml_backend_vulkan.instance import Physical
    from vkml_backend_vulkan.selftest.probe import Probe
    from vkml_backend_vulkan.selftest.verdict import Verdict

pytestmark = pytest.mark.swiftshader
KNOWN = {"llvmpipe": ("exact", True, False), "SwiftShader": ("exact-normal", False, False)}
"""Level, whether division is exact, and whether fma is: Mesa's makes a product and a sum of it."""


def test_the_known_drivers(physical: Physical, verdict: Verdict) -> None:
    known = next((v for n, v in KNOWN.items() if n in physical.name), None)
    if known is None:
        pytest.skip(f"nobody has written down what {physical.name} holds")
    assert (verdict.level, verdict.hardware_divide, verdict.hardware_fma) == known
    assert "probe hardware fma of 0x" in verdict.fma_why
    if verdict.level == "exact-normal":
        assert "probe floats add of 0x" in verdict.why and "wanted 0x" in verdict.why
        assert "probe hardware divide of 0x" in verdict.divide_why
    else:
        assert "all" in verdict.why and "correctly rounded" in verdict.divide_why


def test_wrong_bits_are_refused(
    physical: Physical, some: Callable[..., None], tmp_path: Path
) -> None:
    from vkml_backend_vulkan.selftest.judge import judge

    some(spoilt)
    with pytest.raises(DeviceError) as caught:
        judge(physical, tmp_path)
    said = str(caught.value)
    assert physical.name in said and "refused by the self-test: probe floats mul of 0x" in said
    assert "gave 0x" in said and "wanted 0x" in said and "(1 of " in said
    got, wanted = (said.split(f"{word} ")[1].split(" ")[0] for word in ("gave", "wanted"))
    assert int(got, 16) ^ int(wanted.strip(","), 16) == 1


def test_wrong_bits_of_subnormals_cost_the_level(
    physical: Physical, some: Callable[..., None], tmp_path: Path
) -> None:
    from vkml_backend_vulkan.selftest.judge import judge

    some(lambda p: spoilt(p) if p.level == "exact" else p)
    found = judge(physical, tmp_path)
    assert found.level == "exact-normal" and "probe floats mul of 0x" in found.why


def test_the_lowering_uses_the_verdict(physical: Physical, verdict: Verdict) -> None:
    from vkml_backend_vulkan.dispatch import Pointer
    from vkml_backend_vulkan.lower import elementwise
    from vkml_core.shapes import View

    for bits in range(4):
        found = replace(verdict, hardware_divide=bool(bits & 1), hardware_fma=bool(bits & 2))
        limits = found.applied(physical).limits
        source = (Pointer(1, 0), View.of((5,)))
        (dispatch,) = elementwise.launch("elementwise.div.f32", (5,), Pointer(0, 0),
                                         [source, source], limits)  # fmt: skip
        assert dispatch.constants[1] == bits


def _kernel_probes() -> Iterator[Probe]:
    from vkml_backend_vulkan.selftest import kernels

    return kernels.probes()


@pytest.mark.parametrize("probe", list(_kernel_probes()), ids=lambda p: f"{p.name} {p.level}")
def test_kernels_want_the_oracles_bits(probe: Any) -> None:
    sources = [Source.plain(x) for x in probe.operands]
    plan = plan_of(probe.target.op, probe.target.attrs, sources)
    assert_same_bits(probe.wanted, result(oracle.open(0), plan, sources))
    values = [x for x in (*probe.operands, probe.wanted) if x.dtype == np.float32]
    if REGISTRY[probe.target.op].kind is Kind.ELEMENTWISE:
        tiny = any(((x != 0) & (abs(x) < 2.0**-126)).any() for x in values)
        assert probe.level == "exact" or not tiny


def _bits(x: Any) -> Any:
    return np.where(np.isnan(x), 0x7FC00000, x.astype(np.float32).view(np.uint32))


LARGEST = float(np.finfo(np.float32).max)
BROKEN: dict[str, tuple[str, Callable[..., Any]]] = {
    "contracted": ("product_sum", lambda a, b, c: a * b + c),
    "towards zero": ("add", lambda a, b, c: np.where(
        abs((s := a + b).astype(np.float32)) > abs(s),
        np.nextafter(s.astype(np.float32), np.float32(0)), s)),
    "no signed zero": ("mul", lambda a, b, c: a * b + 0.0),
    "infinity saturates": ("add", lambda a, b, c: np.clip(a + b, -LARGEST, LARGEST)),
}  # fmt: skip
"""Other arithmetic, from exact float64, and the form that must notice it."""


@pytest.mark.parametrize("name", BROKEN)
def test_broken_arithmetic_is_noticed(name: str) -> None:
    from vkml_backend_vulkan.selftest import forms

    form, compute = BROKEN[name]
    for family in ("floats", "folded"):
        probes = [p for p in forms.probes() if p.name == f"{family} {form}"]
        base = next(p for p in probes if p.level == "exact-normal")
        columns = [np.ascontiguousarray(base.operands[0][:, k]) for k in range(3)]
        with np.errstate(all="ignore"):
            got = compute(*(c.view(np.float32).astype(np.float64) for c in columns))
            assert (_bits(got) != base.wanted[:, 0]).any()


def test_flushing_is_noticed() -> None:
    from vkml_backend_vulkan.selftest import forms

    named = {"floats add", "floats mul", "folded add", "folded mul", "conversions through_memory"}
    found = {p.name for p in forms.probes() if p.level == "exact"}
    assert named <= found
    for probe in forms.probes():
        if probe.name in named and probe.level == "exact":
            result = probe.wanted[:, 0] & 0x7FFFFFFF
            assert ((result > 0) & (result < 0x00800000)).any()


def _child(monkeypatch: pytest.MonkeyPatch, code: str) -> list[int]:
    """Let the child be this code; give a list that grows with each one started."""
    from vkml_backend_vulkan.selftest import child

    started: list[int] = []

    def command(*_: object) -> list[str]:
        started.append(1)
        return [sys.executable, "-c", code]

    monkeypatch.setattr(child, "command", command)
    return started


_VERDICT = (
    'print(\'{"level": "exact", "why": "w", "hardware_divide": true, "divide_why": "d", '
    '"hardware_fma": false, "fma_why": "f", "tested": "today"}\')'
)
_DIE = "import os, signal; print('cut', flush=True); os.kill(os.getpid(), signal.{})"
ENDS = {
    "segfault": (_DIE.format("SIGSEGV"), "its process was killed by SIGSEGV"),
    "kill": (_DIE.format("SIGKILL"), "its process was killed by SIGKILL"),
    "illegal instruction": (_DIE.format("SIGILL"), "its process was killed by SIGILL"),
    "exception": ("raise ValueError('of the test')", r"status 1 \(ValueError: of the test\)"),
    "verdict, then a crash": (f"{_VERDICT}; import os; os._exit(3)", "ended with status 3"),
    "hang": ("import time; time.sleep(60)", r"did not finish within 0.5 s and was stopped"),
    "garbage": ("print('hello')", r"its process answered 'hello"),
    "nothing": ("", "its process answered ''"),
    "half a verdict": ('print(\'{"level": "exact"}\')', "its process answered"),
    "a level that is none": (_VERDICT.replace("exact", "perfect"), "its process answered"),
    "refusal": ('print(\'{"refused": "vulkan: no"}\')', "^vulkan: no$"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("end", ENDS)
def test_how_the_child_ends(
    end: str, physical: Physical, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vkml_backend_vulkan.selftest import child
    from vkml_backend_vulkan.selftest.meeting import verdict_of

    code, said = ENDS[end]
    started = _child(monkeypatch, code)
    if end == "hang":
        monkeypatch.setattr(child, "SECONDS", 0.5)
    for _ in range(2):
        with pytest.raises(DeviceError, match=said):
            verdict_of(physical, tmp_path)
    assert len(started) == 2 and not list(tmp_path.iterdir()), "a refusal must not be kept"


def test_a_verdict_is_remembered(
    physical: Physical, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vkml_backend_vulkan.selftest import meeting

    started = _child(monkeypatch, _VERDICT)
    first = meeting.verdict_of(physical, tmp_path / "new")
    (file,) = (tmp_path / "new").iterdir()
    again = meeting.verdict_of(physical, tmp_path / "new")
    assert len(started) == 1
    assert first.tested == "today" and again == replace(first, tested=again.tested)
    assert again.tested == f"today, remembered in {file}"

    good = file.read_bytes()
    for damaged in (b"", good[:-1], b"x" + good[1:], good[:-1] + b"\xff"):
        file.write_bytes(damaged)
        count = len(started)
        assert meeting.verdict_of(physical, tmp_path / "new") == first
        assert len(started) == count + 1 and file.read_bytes() == good

    other = replace(physical, driver_version=physical.driver_version + 1)
    count = len(started)
    assert meeting.verdict_of(other, tmp_path / "new") == first
    assert len(started) == count + 1 and len(list((tmp_path / "new").iterdir())) == 2
    monkeypatch.setattr(meeting, "contents", lambda: "another test")
    meeting.verdict_of(physical, tmp_path / "new")
    assert len(started) == count + 2


def test_a_directory_that_cannot_be_written_is_no_error(
    physical: Physical, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vkml_backend_vulkan.selftest.meeting import verdict_of

    (tmp_path / "file").write_text("not a directory")
    _child(monkeypatch, _VERDICT)
    tested = verdict_of(physical, tmp_path / "file").tested
    assert tested.startswith(
        f"today, and at every start again, since {tmp_path / 'file'} cannot be"
    )
    assert tested.endswith("let XDG_CACHE_HOME name a folder that can")


def test_open_runs_it_once_in_a_child(
    physical: Physical, verdict: Verdict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vkml_backend_vulkan.backend import backend
    from vkml_backend_vulkan.selftest import judge

    def never(*_: object) -> None:
        raise AssertionError("it ran in this process")

    monkeypatch.setattr(judge, "judge", never)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path))
    first = backend.open(0)
    report = first.report()
    first.close()
    assert first.verdict == replace(verdict, tested=first.verdict.tested)
    assert first.capabilities().level == report["level"] == verdict.level
    assert report["why"] == verdict.why and verdict.divide_why in report["hardware divide"]
    assert first.physical.limits.hardware_divide == verdict.hardware_divide
    _child(monkeypatch, "raise SystemExit('started again')")
    second = backend.open(0)
    second.close()
    assert "remembered in" in second.report()["self-test"]
    assert second.verdict == replace(first.verdict, tested=second.verdict.tested)


@pytest.mark.parametrize(
    ("attribute", "value", "said"),
    [
        ("executable", "", "sys.executable is not set"),
        ("executable", None, "sys.executable is not set"),
        ("executable", "/opt/app/app", "/opt/app/app is no Python interpreter"),
        ("frozen", True, "the program is frozen"),
    ],
)
def test_without_an_interpreter_it_runs_here(
    attribute: str,
    value: object,
    said: str,
    physical: Physical,
    some: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from vkml_backend_vulkan.selftest.meeting import verdict_of

    some()
    monkeypatch.setattr(sys, attribute, value, raising=False)
    found = verdict_of(physical, tmp_path)
    assert found.tested.endswith(f", in the program's own process: {said}")


def test_the_child_names_a_device_that_is_gone(tmp_path: Path) -> None:
    from vkml_backend_vulkan.selftest.__main__ import answer

    assert "finds no device 1234" in answer("1234", tmp_path)


def test_a_device_opened_without_it_says_so(device: VulkanDevice) -> None:
    report = device.report()
    assert report["self-test"] == "not run" and "a guess" in report["why"]
    assert device.physical.limits.hardware == 0


def test_every_form_has_a_reference() -> None:
    from vkml_backend_vulkan.selftest import floats, integers
    from vkml_backend_vulkan.shaders.tables import selftest as table

    assert floats.FLOATS.keys() == table.FLOATS.keys()
    for name in ("INTEGERS", "COMPARES", "CONVERSIONS"):
        assert getattr(integers, name).keys() == getattr(table, name).keys()

"""The choice of a device: the best one, the default one, the level that is required."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from fakes import CPU, Fake, FakeDevice, devices

from vkml_core.errors import DeviceError, PluginError

pytestmark = pytest.mark.usefixtures("no_settings")

BEST: dict[str, tuple[list[Fake], str, str]] = {
    "the oracle alone": ([CPU], "cpu", "no accelerator is available"),
    "a discrete GPU first": (
        [CPU, Fake("gpu", "software", "integrated-gpu", "discrete-gpu")],
        "gpu:2",
        "a discrete GPU (gpu number 2), level exact",
    ),
    "of two equals the first": ([CPU, Fake("gpu", "discrete-gpu", "discrete-gpu")], "gpu", ""),
    "an integrated GPU next": (
        [CPU, Fake("a", "other", "virtual-gpu"), Fake("b", "integrated-gpu")],
        "b",
        "an integrated GPU",
    ),
    "another accelerator next": ([CPU, Fake("npu", "other")], "npu", "an accelerator"),
    "an exact and complete CPU backend before the oracle": (
        [CPU, Fake("fast", "cpu")],
        "fast",
        "a CPU backend (fast number 0)",
    ),
    "no CPU backend that flushes subnormals": (
        [CPU, Fake("fast", "cpu", level="exact-normal")],
        "cpu",
        "the CPU backend",
    ),
    "no CPU backend that lacks operations": (
        [CPU, Fake("toy", "cpu", ops=frozenset({"add"}))],
        "cpu",
        "the CPU backend",
    ),
    "never a software rasteriser over the oracle": (
        [CPU, Fake("gpu", "software")],
        "cpu",
        "software rasterisers (gpu) are used only when named",
    ),
    "the level of a GPU is told": (
        [CPU, Fake("gpu", "discrete-gpu", level="exact-normal")],
        "gpu",
        "level exact-normal",
    ),
    "a GPU that does not open is told": (
        [CPU, Fake("gpu", "discrete-gpu", unopenable=[0])],
        "cpu",
        "what failed: gpu (vkml-gpu 1.0) failed at open: OSError: number 0 is busy",
    ),
    "the next GPU where the first does not open": (
        [CPU, Fake("gpu", "discrete-gpu", "integrated-gpu", unopenable=[0])],
        "gpu:1",
        "number 0 is busy",
    ),
    "a software rasteriser where nothing else works": ([Fake("gpu", "software")], "gpu", ""),
    "part of the operations where nothing else works": (
        [Fake("toy", "cpu", ops=frozenset({"add"}))],
        "toy",
        "works, in part",
    ),
}


@pytest.mark.parametrize("case", BEST)
def test_best_device(case: str) -> None:
    backends, name, reason = BEST[case]
    for order in (backends, backends[::-1]):
        best, why = devices(*order).best()
        assert best == name
        assert reason in why
        assert why.endswith(".")


def test_best_device_never_raises_on_a_bad_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKML_REQUIRE_LEVEL", "perfect")
    assert "VKML_REQUIRE_LEVEL: expected exact or exact-normal" in devices(CPU).best()[1]


def test_best_device_survives_a_device_that_loses_its_mind() -> None:
    class Flaky(Fake):
        def open(self, index: int) -> Any:
            device = FakeDevice(self, index)
            answers = iter([device.capabilities()])
            device.capabilities = lambda: next(answers)  # type: ignore[method-assign]
            return device

    assert devices(CPU, Flaky("gpu", "discrete-gpu")).best()[0] == "cpu"


def test_required_level(monkeypatch: pytest.MonkeyPatch) -> None:
    loose = Fake("loose", "discrete-gpu", level="exact-normal")
    monkeypatch.setenv("VKML_REQUIRE_LEVEL", "exact-normal")
    assert devices(CPU, loose).best()[0] == "loose"
    monkeypatch.setenv("VKML_REQUIRE_LEVEL", "exact")
    have = devices(CPU, loose)
    with pytest.raises(PluginError, match="holds the level exact-normal"):
        have.open("loose")
    assert have.best()[0] == "cpu"
    assert have.open("cpu").name == "cpu number 0"


def test_the_level_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    loose = Fake("loose", "discrete-gpu", level="exact-normal")
    with caplog.at_level(logging.INFO, "vkml"):
        devices(CPU, loose).best()
        devices(CPU, loose).open("cpu")
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("WARNING", "opened loose: loose number 0, level exact-normal"),
        ("INFO", "opened cpu: cpu number 0, level exact"),
    ]


def test_default_device(monkeypatch: pytest.MonkeyPatch) -> None:
    have = devices(CPU, Fake("gpu", "discrete-gpu", "discrete-gpu"))
    assert have.default() == "cpu"
    monkeypatch.setenv("VKML_DEVICE", "gpu:1")
    assert have.default() == "gpu:1"
    monkeypatch.setenv("VKML_DEVICE", "gpu:0")
    assert have.default() == "gpu"
    monkeypatch.setenv("VKML_DEVICE", "gqu")
    with pytest.raises(DeviceError, match=r"VKML_DEVICE=gqu: .*did you mean 'gpu'"):
        have.default()
    monkeypatch.setenv("VKML_DEVICE", "gpu:7")
    with pytest.raises(DeviceError, match=r"VKML_DEVICE=gpu:7: .*does not exist"):
        have.default()

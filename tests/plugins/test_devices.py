"""Devices by name: looked up, opened once, and what is told where that fails."""

from __future__ import annotations

from typing import Any

import pytest
from fakes import CPU, Fake, devices, source

from vkml_core.backends import Backends
from vkml_core.errors import ArgumentError, DeviceError, PluginError
from vkml_core.plugins import Devices

pytestmark = pytest.mark.usefixtures("no_settings")


def test_names_are_brought_to_one_form() -> None:
    have = devices(Fake("cpu", "cpu"), Fake("gpu", "discrete-gpu", "discrete-gpu"))
    assert [have.canonical(n) for n in ("cpu", "cpu:0", "gpu:1")] == ["cpu", "cpu", "gpu:1"]
    assert have.open("gpu") is have.open("gpu:0")
    assert have.open("gpu:0") is have.open("gpu")
    assert have.open("gpu:1") is not have.open("gpu")


def test_a_device_is_opened_once_and_only_the_one_that_is_asked_for() -> None:
    other = Fake("other", "discrete-gpu")
    gpu = Fake("gpu", "discrete-gpu", "discrete-gpu")
    have = devices(other, gpu)
    have.open("gpu:1"), have.open("gpu:1")
    assert gpu.opened == [1]
    assert other.opened == []


def test_looking_a_name_up_loads_nothing_else() -> None:
    loaded: list[str] = []

    def load(name: str) -> Fake:
        loaded.append(name)
        return Fake(name, "cpu")

    sources = [source("a", lambda: load("a")), source("b", lambda: load("b"))]
    have = Devices(Backends(lambda: (sources, [])))
    have.canonical("a:3")
    assert loaded == []
    have.open("b"), have.open("b")
    assert loaded == ["b"]


@pytest.mark.parametrize(
    "name",
    [
        *("cpu:", "cpu:-1", "cpu:x", "", ":", ":0", "CPU", "cpu ", "cpu\n", "cpu:01", "cpu:1:2"),
        *("cpu:٣", "cpu:1e3", "cpu:9999999999", None, 0, b"cpu", ["cpu"]),
    ],
)
def test_malformed_names(name: Any) -> None:
    for ask in (devices(CPU).open, devices(CPU).canonical):
        with pytest.raises(DeviceError, match="is not a device name") as caught:
            ask(name)
        assert repr(name) in str(caught.value)
        assert "available: cpu" in str(caught.value)


def test_index_out_of_range_tells_the_devices() -> None:
    have = devices(Fake("gpu", "discrete-gpu", "integrated-gpu"))
    with pytest.raises(DeviceError) as caught:
        have.open("gpu:2")
    assert str(caught.value) == (
        "device: 'gpu:2' does not exist; gpu offers gpu (gpu number 0), gpu:1 (gpu number 1)"
    )


def test_nothing_installed_says_what_to_install() -> None:
    with pytest.raises(DeviceError, match="install the distribution vkml"):
        devices().open("cpu")
    assert devices().available() == []
    assert devices().best()[0] == "cpu"
    assert "No device works" in devices().best()[1]


def test_a_probe_that_failed_is_asked_again() -> None:
    gpu = Fake("gpu", "discrete-gpu")
    gpu.reason = "no driver"
    have = devices(gpu)
    with pytest.raises(PluginError, match="no driver"):
        have.open("gpu")
    assert [f.stage for f in have.failures()] == ["probe"]
    gpu.reason = None
    assert have.available() == ["gpu"]
    assert have.failures() == ()
    assert have.open("gpu").name == "gpu number 0"


def test_one_device_of_several_that_fails_is_named() -> None:
    gpu = Fake("gpu", "discrete-gpu", "discrete-gpu", unopenable=[1])
    have = devices(gpu)
    have.open("gpu")
    with pytest.raises(PluginError, match=r"gpu:1 \(vkml-gpu 1.0\) failed at open: OSError"):
        have.open("gpu:1")
    (failure,) = have.failures()
    assert (failure.name, failure.error) == ("gpu:1", "OSError: number 1 is busy")
    gpu.unopenable.clear()
    have.open("gpu:1")
    assert have.failures() == ()


def test_the_cause_of_a_failure_is_kept_for_the_traceback() -> None:
    have = devices(Fake("gpu", "discrete-gpu", unopenable=[0]))
    with pytest.raises(PluginError) as caught:
        have.open("gpu")
    assert isinstance(caught.value.__cause__, OSError)


def test_keyboard_interrupt_is_not_swallowed() -> None:
    def interrupted() -> Any:
        raise KeyboardInterrupt

    have = Devices(Backends(lambda: ([source("slow", interrupted)], [])))
    with pytest.raises(KeyboardInterrupt):
        have.available()


def test_bad_settings_are_argument_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKML_EAGER", "perhaps")
    with pytest.raises(ArgumentError, match="VKML_EAGER"):
        devices(CPU).default()
    with pytest.raises(ArgumentError, match="VKML_EAGER"):
        devices(CPU).open("cpu")

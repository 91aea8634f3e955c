"""Backends that an application registers, and distributions that claim or hide names."""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from fakes import CPU, Fake, devices

from vkml_core.backends import Backends
from vkml_core.discovery import Failure, entry_points
from vkml_core.errors import DeviceError, PluginError, RegistrationError
from vkml_core.hookspecs import hookimpl
from vkml_core.plugins import Devices

pytestmark = pytest.mark.usefixtures("no_settings")


def test_register_and_take_back() -> None:
    have = devices(CPU)
    mine = Fake("mine", "discrete-gpu")
    have.backends.register(mine)
    assert have.available() == ["cpu", "mine"]
    opened = have.open("mine")
    with pytest.raises(RegistrationError, match="backend 'mine' is registered already"):
        have.backends.register(Fake("mine", "cpu"))
    have.unregister("mine")
    with pytest.raises(DeviceError, match="no backend is called 'mine'"):
        have.open("mine")
    with pytest.raises(RegistrationError, match="'mine' was not registered"):
        have.unregister("mine")
    have.backends.register(mine)
    assert have.open("mine") is not opened


def test_registering_reads_no_entry_point() -> None:
    def find() -> Any:
        raise AssertionError("looked for entry points")

    Devices(Backends(find)).backends.register(Fake("mine", "cpu"))


def test_registered_and_installed_under_one_name() -> None:
    have = devices(CPU)
    have.backends.register(Fake("cpu", "cpu"))
    with pytest.raises(PluginError, match=r"by this application and by vkml-cpu 1.0"):
        have.open("cpu")
    have.unregister("cpu")
    assert have.open("cpu").name == "cpu number 0"


BAD_BACKENDS: dict[str, tuple[Any, str]] = {
    "no name": (SimpleNamespace(), "'SimpleNamespace': NAME is missing; API_VERSION is missing"),
    "name is no string": (SimpleNamespace(NAME=3), "NAME is 3"),
    "bad name": (Fake("My Backend", "cpu"), "the name 'My Backend' must be lower-case"),
    "a colon": (Fake("a:1", "cpu"), "the name 'a:1' must be lower-case"),
    "a class": (Fake, "Fake is a class"),
    "no methods": (
        SimpleNamespace(NAME="x", API_VERSION=(1, 0), probe=1),
        "probe is not a method; devices is missing; open is missing",
    ),
    "other major": (SimpleNamespace(NAME="x", API_VERSION=(7, 0)), "speaks backend API 7.0"),
}


@pytest.mark.parametrize("case", BAD_BACKENDS)
def test_registering_a_bad_backend(case: str) -> None:
    backend, told = BAD_BACKENDS[case]
    have = devices(CPU)
    with pytest.raises(RegistrationError) as caught:
        have.backends.register(backend)
    assert told in str(caught.value)
    assert have.available() == ["cpu"]


class Plugin:
    def __init__(self, *backends: Any) -> None:
        self.offered = backends

    @hookimpl
    def vkml_backends(self) -> Iterable[Any]:
        return self.offered


def test_a_pluggy_plugin_offers_several_backends() -> None:
    have = devices(CPU)
    have.backends.register_plugin(Plugin(Fake("a", "cpu"), Fake("b", "cpu")))
    assert have.available() == ["cpu", "a", "b"]


def test_a_plugin_is_registered_in_full_or_not_at_all() -> None:
    have = devices(CPU)
    for second in (Fake("a", "cpu"), SimpleNamespace(NAME="b")):
        with pytest.raises(RegistrationError):
            have.backends.register_plugin(Plugin(Fake("a", "cpu"), second))
        assert have.available() == ["cpu"]


def test_plugins_that_pluggy_refuses() -> None:
    class Misspelt:
        @hookimpl
        def vkml_backend(self) -> list[Any]:
            return []

    class Wrong:
        @hookimpl
        def vkml_backends(self, device: str) -> list[Any]:
            return []

    refused = {"unknown hook": Misspelt(), "device": Wrong(), "offers no backend": object()}
    for told, plugin in refused.items():
        with pytest.raises(RegistrationError, match=told):
            devices(CPU).backends.register_plugin(plugin)


class Distribution:
    """What importlib_metadata gives, with metadata that may be damaged."""

    def __init__(self, name: str | None, *names: str, damaged: bool = False) -> None:
        self.metadata = {"Name": name}
        self.version = "1.0"
        self.names = names
        self.damaged = damaged

    @property
    def entry_points(self) -> Any:
        if self.damaged:
            raise UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
        found = [
            SimpleNamespace(name=n, value="", load=lambda n=n: Fake(n, "cpu")) for n in self.names
        ]
        return SimpleNamespace(select=lambda group: found if group == "vkml.backends" else [])


def test_unreadable_metadata_hides_only_its_own_distribution() -> None:
    listed = [Distribution("bad", "x", damaged=True), Distribution("vkml", "cpu")]
    have = Devices(Backends(lambda: entry_points(lambda: listed)))
    assert have.available() == ["cpu"]
    (failure,) = have.failures()
    assert (failure.name, failure.stage) == ("bad", "find")
    assert failure.error.startswith("UnicodeDecodeError")
    with pytest.raises(DeviceError, match="what failed: bad"):
        have.open("x")


def test_an_environment_that_cannot_be_listed() -> None:
    def broken() -> Any:
        raise OSError("a path hook is broken")

    have = Devices(Backends(lambda: entry_points(broken)))
    assert have.best()[0] == "cpu"
    assert "a path hook is broken" in have.best()[1]


def test_a_name_claimed_twice_within_one_distribution() -> None:
    have = Devices(Backends(lambda: entry_points(lambda: [Distribution("both", "a", "a")])))
    with pytest.raises(PluginError, match=r"'a' is claimed 2 times: by both 1.0"):
        have.open("a")


def test_a_failure_reads_as_one_sentence() -> None:
    failure = Failure("gpu", "vkml-gpu", "1.0", "load", "OSError: x", "install it")
    assert str(failure) == "gpu (vkml-gpu 1.0) failed at load: OSError: x; install it"

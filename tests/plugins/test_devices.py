"""Devices by name, the choice of the best one, and backends that an application registers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest

from vkml_core.backend import Available, Capabilities, DeviceInfo, DeviceKind, Level, Unavailable
from vkml_core.backends import Backends
from vkml_core.discovery import Failure, Source, entry_points
from vkml_core.errors import ArgumentError, DeviceError, PluginError, RegistrationError
from vkml_core.hookspecs import hookimpl
from vkml_core.ops.spec import REGISTRY
from vkml_core.plugins import Devices

ALL = frozenset(REGISTRY)


class Fake:
    """A backend whose devices are of given kinds; counts what is asked of it."""

    API_VERSION = (1, 0)

    def __init__(
        self,
        name: str,
        *kinds: DeviceKind,
        level: Level = "exact",
        ops: frozenset[str] = ALL,
        unopenable: Iterable[int] = (),
    ) -> None:
        self.NAME = name
        self.kinds = kinds
        self.level: Level = level
        self.ops = ops
        self.unopenable = set(unopenable)
        self.opened: list[int] = []
        self.reason: str | None = None

    def probe(self) -> Available | Unavailable:
        return Unavailable(self.reason) if self.reason else Available()

    def devices(self) -> list[DeviceInfo]:
        return [DeviceInfo(i, f"{self.NAME} number {i}", k) for i, k in enumerate(self.kinds)]

    def open(self, index: int) -> Any:
        if index in self.unopenable:
            raise OSError(f"number {index} is busy")
        self.opened.append(index)
        return FakeDevice(self, index)


class FakeDevice:
    def __init__(self, backend: Fake, index: int) -> None:
        self.backend = backend
        self.name = f"{backend.NAME} number {index}"
        self.kind = backend.kinds[index]

    def capabilities(self) -> Capabilities:
        return Capabilities(level=self.backend.level, ops=self.backend.ops)

    def upload(self, array: Any) -> Any:
        return array

    def download(self, buffer: Any, shape: Any, dtype: Any) -> Any:
        return buffer

    def compile(self, plan: Any) -> Any:
        return plan

    def synchronize(self) -> None:
        pass

    def stats(self) -> dict[str, float]:
        return {}

    def report(self) -> dict[str, str]:
        return {}


def source(name: str, load: Callable[[], Any], distribution: str | None = None) -> Source:
    return Source(name, distribution or f"vkml-{name}", "1.0", load)


def devices(*backends: Fake) -> Devices:
    """Devices of installed backends, each from a distribution of its own."""
    sources = [source(b.NAME, lambda b=b: b) for b in backends]  # type: ignore[misc]
    return Devices(Backends(lambda: (sources, [])))


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("VKML_DEVICE", "VKML_REQUIRE_LEVEL"):
        monkeypatch.delenv(name, raising=False)


CPU = Fake("cpu", "cpu")


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


def test_best_device_survives_a_device_that_loses_its_mind() -> None:
    class Flaky(Fake):
        def open(self, index: int) -> Any:
            device = FakeDevice(self, index)
            answers = iter([device.capabilities()])
            device.capabilities = lambda: next(answers)  # type: ignore[method-assign]
            return device

    assert devices(CPU, Flaky("gpu", "discrete-gpu")).best()[0] == "cpu"


def test_bad_settings_are_argument_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VKML_EAGER", "perhaps")
    with pytest.raises(ArgumentError, match="VKML_EAGER"):
        devices(CPU).default()
    with pytest.raises(ArgumentError, match="VKML_EAGER"):
        devices(CPU).open("cpu")

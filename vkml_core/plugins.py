"""Devices by name: open one, list them all, choose the best; nothing is imported before asked.

A device is called `backend` or `backend:index`; index 0 is left out of its canonical name.
Backends come from the entry-point group `vkml.backends` and from `register_backend`.
"""

from __future__ import annotations

import difflib
import logging
import re
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from vkml_core.backend import Backend, Device, DeviceInfo, DeviceKind, Level
from vkml_core.backends import Backends
from vkml_core.checks import check_device, check_level, serves_all
from vkml_core.discovery import Failure, Refused, Source, guard
from vkml_core.errors import ArgumentError, DeviceError, PluginError
from vkml_core.settings import settings

CPU: Final = "cpu"
"""The device where none is named."""
_NAME: Final = re.compile(r"[a-z][a-z0-9_-]*(:(0|[1-9][0-9]{0,8}))?")
_KINDS: Final[dict[DeviceKind, tuple[int, str]]] = {
    "discrete-gpu": (0, "a discrete GPU"),
    "integrated-gpu": (1, "an integrated GPU"),
    "virtual-gpu": (2, "a virtual GPU"),
    "other": (2, "an accelerator"),
    "cpu": (3, "a CPU backend"),
    "software": (5, "a software rasteriser"),
}
"""How much `best_device` prefers a kind (less is better) and what it is called."""
_ORACLE: Final = 4
"""The preference of `CPU` itself: after other CPU backends, before software rasterisers."""
Offer = tuple[str, DeviceInfo]
Opened = Callable[[str, Device], None]
"""Is told the canonical name of a device and the device."""
_log: Final = logging.getLogger("vkml.devices")


@dataclass(frozen=True, slots=True)
class BackendStatus:
    """How far a backend gets: its failure, or else its devices by name."""

    source: Source
    failure: Failure | None
    devices: dict[str, DeviceInfo]


class Devices:
    """The devices of some backends. This module's functions use one instance of it."""

    def __init__(self, backends: Backends | None = None) -> None:
        self.backends = backends or Backends()
        self._opened: dict[str, Device] = {}
        self._failures: dict[str, Failure] = {}
        self._watching: list[Opened] = []
        self._lock = threading.RLock()

    def canonical(self, name: object) -> str:
        """Give the one name of a device: `cpu:0` is `cpu`. Imports no backend.

        Raises DeviceError where the name is malformed or nobody offers its backend.
        """
        return _join(*self._parse(name))

    def open(self, name: str) -> Device:
        """Give the device of that name, opening it the first time.

        Raises DeviceError telling what is available and what failed, and why; ArgumentError for a
        `VKML_*` variable that is wrong.
        """
        device = self._opened.get(name) if isinstance(name, str) else None
        if device is None:
            backend, index = self._parse(name)
            with self._lock:
                device = self._opened.get(_join(backend, index)) or self._open(backend, index)
                self._opened[name] = device
        return device

    def reopen(self, name: str) -> Device:
        """Open the device of that name anew, as after DeviceLost. Raises as `open` does.

        Tensors of the device as it was can still be read, unless it was lost, but not computed
        with.
        """
        key = self.canonical(name)
        with self._lock:
            before = self._opened.get(key)
            self._opened = {n: d for n, d in self._opened.items() if d is not before}
            return self.open(key)

    def opened(self) -> dict[str, Device]:
        """Give the devices that are open, by their canonical names."""
        with self._lock:
            return {_join(*_split(name)): device for name, device in self._opened.items()}

    def watch(self, told: Opened) -> None:
        """Tell of every device that is open, now, and of each that will be opened."""
        with self._lock:
            self._watching.append(told)
            for name, device in self.opened().items():
                told(name, device)

    def unwatch(self, told: Opened) -> None:
        """Tell no more."""
        with self._lock:
            self._watching.remove(told)

    def available(self) -> list[str]:
        """List the devices of every backend that works, without opening them."""
        return [name for status in self.survey() for name in status.devices]

    def best(self) -> tuple[str, str]:
        """Choose the device to prefer and say why in a sentence; never raises.

        A discrete GPU comes first, then an integrated one, another accelerator, a CPU backend
        that is exact and complete, `cpu`; a software rasteriser only where `cpu` does not work.
        """
        try:
            settings()
        except ArgumentError as error:
            return CPU, f"No device can be chosen: {error}."
        offered = [offer for status in self.survey() for offer in status.devices.items()]
        partial: str | None = None
        for name, info in sorted(offered, key=lambda offer: _preference(*offer)):
            try:
                capabilities = guard("open", self.open(name).capabilities)
            except (DeviceError, Refused):
                continue
            if info.kind != "cpu" or name == CPU or serves_all(capabilities):
                return name, self._reason(name, info, capabilities.level, offered)
            partial = partial or name
        if partial is not None:
            return partial, f"{partial} alone works, in part: {CPU} does not{self._blame()}."
        return CPU, f"No device works{self._blame()}. Run `vkml doctor`."

    def default(self) -> str:
        """Give the device of tensors that name none: `VKML_DEVICE`, else `cpu`."""
        name = settings().device
        if name is None:
            return CPU
        try:
            self.open(name)
        except DeviceError as error:
            raise DeviceError(f"VKML_DEVICE={name}: {error}") from error
        return self.canonical(name)

    def failures(self) -> tuple[Failure, ...]:
        """Give what has failed so far and has not worked since."""
        return (*self.backends.unreadable(), *self._failures.values())

    def survey(self) -> list[BackendStatus]:
        """Take every backend as far as its list of devices; `cpu` comes first."""
        with self._lock:
            sources = self.backends.sources().values()
            return [self._status(s) for s in sorted(sources, key=lambda s: s.name != CPU)]

    def unregister(self, name: str) -> None:
        """Take back a registered backend and forget its devices."""
        with self._lock:
            self.backends.unregister(name)
            self._opened = {d: v for d, v in self._opened.items() if _split(d)[0] != name}
            self._failures = {d: f for d, f in self._failures.items() if _split(d)[0] != name}

    def _parse(self, name: object) -> tuple[str, int]:
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise DeviceError(
                f"device: {name!r} is not a device name; expected backend or backend:index, "
                f"such as 'cpu' or 'vulkan:1'; {self._situation()}"
            )
        backend, index = _split(name)
        if backend not in self.backends.sources():
            close = difflib.get_close_matches(backend, self.backends.sources(), 1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise DeviceError(
                f"device: no backend is called {backend!r}{hint}; {self._situation()}"
            )
        return backend, index

    def _situation(self) -> str:
        available = ", ".join(self.available())
        if not self.backends.sources() and not self.failures():
            return (
                "no backend is installed, not even vkml's own: install the distribution vkml "
                "(in its source tree: pip install -e .)"
            )
        return f"available: {available or 'none'}{self._blame()}"

    def _blame(self) -> str:
        told = " | ".join(map(str, self.failures()))
        return f"; what failed: {told}" if told else ""

    def _open(self, name: str, index: int) -> Device:
        required = settings().require_level
        source = self.backends.sources()[name]
        key = _join(name, index)
        backend, infos = self._ready(source)
        if index >= len(infos):
            listed = ", ".join(f"{_join(name, i.index)} ({i.name})" for i in infos)
            raise DeviceError(f"device: {key!r} does not exist; {name} offers {listed}")
        try:
            device = guard("open", backend.open, index)
            capabilities = guard("check", check_device, device)
            check_level(capabilities, required)
        except Refused as refused:
            raise self._failed(source.failure(refused, key)) from refused.__cause__
        self._failures.pop(key, None)
        severity = logging.INFO if capabilities.level == "exact" else logging.WARNING
        _log.log(severity, "opened %s: %s, level %s", key, infos[index].name, capabilities.level)
        self._opened[key] = device
        for told in self._watching:
            told(key, device)
        return device

    def _ready(self, source: Source) -> tuple[Backend, tuple[DeviceInfo, ...]]:
        try:
            ready = self.backends.ready(source)
        except Refused as refused:
            raise self._failed(source.failure(refused)) from refused.__cause__
        earlier = self._failures.get(source.name)
        if earlier is not None and earlier.stage == "probe":
            del self._failures[source.name]
        return ready

    def _failed(self, failure: Failure) -> PluginError:
        self._failures[failure.name] = failure
        installed = ", ".join(self.backends.sources())
        return PluginError(f"device: {failure}; installed backends: {installed}")

    def _status(self, source: Source) -> BackendStatus:
        try:
            _, infos = self._ready(source)
        except PluginError:
            return BackendStatus(source, self._failures[source.name], {})
        return BackendStatus(source, None, {_join(source.name, i.index): i for i in infos})

    def _reason(self, chosen: str, info: DeviceInfo, level: Level, offered: Sequence[Offer]) -> str:
        """Say why a device was chosen and what stood in the way of others."""
        what = "the CPU backend" if chosen == CPU else _KINDS[info.kind][1]
        said = f"{chosen} is {what} ({info.name}), level {level}"
        worse = [name for name, other in offered if other.kind == "software" and name != chosen]
        if chosen == CPU and not any(_preference(*o) < _ORACLE for o in offered):
            said += "; no accelerator is available"
        if worse:
            said += f"; software rasterisers ({', '.join(worse)}) are used only when named"
        return f"{said}{self._blame()}."


def _preference(name: str, info: DeviceInfo) -> int:
    return _ORACLE if name == CPU else _KINDS[info.kind][0]


def _split(name: str) -> tuple[str, int]:
    backend, _, index = name.partition(":")
    return backend, int(index or 0)


def _join(backend: str, index: int) -> str:
    return f"{backend}:{index}" if index else backend


_DEVICES: Final = Devices()

open_device: Final = _DEVICES.open
reopen_device: Final = _DEVICES.reopen
canonical: Final = _DEVICES.canonical
available_devices: Final = _DEVICES.available
best_device: Final = _DEVICES.best
default_device: Final = _DEVICES.default
failures: Final = _DEVICES.failures
survey: Final = _DEVICES.survey
sources: Final = _DEVICES.backends.sources
register_backend: Final = _DEVICES.backends.register
register_plugin: Final = _DEVICES.backends.register_plugin
unregister_backend: Final = _DEVICES.unregister
opened_devices: Final = _DEVICES.opened
watch_devices: Final = _DEVICES.watch
unwatch_devices: Final = _DEVICES.unwatch

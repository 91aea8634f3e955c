"""Devices by name: open one, list them all, choose the best; nothing is imported before asked.

A device is called `backend` or `backend:index`; index 0 is left out of its canonical name.
Backends come from the entry-point group `vkml.backends` and from `register_backend`.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from vkml_core.backend import Backend, Device, DeviceInfo
from vkml_core.backends import Backends
from vkml_core.checks import check_device, check_level, serves_all
from vkml_core.choice import CPU, Found, choose
from vkml_core.discovery import Failure, Refused, Source, guard
from vkml_core.errors import ArgumentError, DeviceError, PluginError
from vkml_core.names import fault, join, split
from vkml_core.settings import excluded, settings

_LISTING: Final = 5.0
"""How many seconds an error message waits for each stage of a backend that it tells of."""
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
        self._telling = False
        self._listed: dict[Source, list[str]] = {}
        self._lock = threading.RLock()

    def canonical(self, name: object) -> str:
        """Give the one name of a device: `cpu:0` is `cpu`. Imports no backend.

        Raises DeviceError where the name is malformed or nobody offers its backend.
        """
        return join(*self._parse(name))

    def open(self, name: str) -> Device:
        """Give the device of that name, opening it the first time.

        Raises DeviceError telling what is available and what failed, and why; ArgumentError for a
        `VKML_*` variable that is wrong.
        """
        device = self._opened.get(name) if isinstance(name, str) else None
        if device is None:
            backend, index = self._parse(name)
            with self._lock:
                device = self._opened.get(join(backend, index)) or self._open(backend, index)
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
            return {join(*split(name)): device for name, device in self._opened.items()}

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
        """List the devices of every backend that works, without opening them.

        What `VKML_EXCLUDE` names is left out.
        """
        return [name for status in self.survey() for name in status.devices]

    def best(self) -> tuple[str, str]:
        """Choose the device to prefer and say why in a sentence; never raises.

        `vkml_core.choice` has the order.
        """
        try:
            settings()
        except ArgumentError as error:
            return CPU, f"No device can be chosen: {error}."
        offered = {n: info for s in self.survey() for n, info in s.devices.items()}
        return choose(offered, self._found, lambda: _blame(self.failures()))

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
        """Take every backend as far as its list of devices, but for `VKML_EXCLUDE`; `cpu` first."""
        return [self.status(source) for source in self._unasked()]

    def ordered(self) -> list[Source]:
        """Give who offers backends, by metadata only; `cpu` comes first."""
        return sorted(self.backends.sources().values(), key=lambda s: s.name != CPU)

    def status(self, source: Source) -> BackendStatus:
        """Take one backend as far as its list of devices."""
        with self._lock:
            try:
                _, infos = self._ready(source)
            except PluginError:
                return BackendStatus(source, self._failures[source.name], {})
            return BackendStatus(source, None, {join(source.name, i.index): i for i in infos})

    def unregister(self, name: str) -> None:
        """Take back a registered backend and forget its devices."""
        with self._lock:
            self.backends.unregister(name)
            self._opened = {d: v for d, v in self._opened.items() if split(d)[0] != name}
            self._failures = {d: f for d, f in self._failures.items() if split(d)[0] != name}

    def _parse(self, name: object) -> tuple[str, int]:
        wrong = fault(name, self.backends.sources())
        if wrong:
            raise DeviceError(f"device: {wrong}; {self._situation()}")
        return split(str(name))

    def strangers(self) -> list[Source]:
        """Give the backends that are better tried in a process of their own, as far as one can.

        Those are what this process has not met yet, but for vkml's `cpu`, which is NumPy, and what
        the application has registered, which no other process would find.
        """
        ours = ("vkml", CPU)
        return [
            source
            for source in self.ordered()
            if source.target
            and (source.distribution, source.name) != ours
            and not self.backends.met(source)
        ]

    def _unasked(self) -> list[Source]:
        """Give the backends that are tried though nobody has named them."""
        return [source for source in self.ordered() if source.name not in excluded()]

    def _situation(self) -> str:
        if not self.backends.sources() and not self.failures():
            return (
                "no backend is installed, not even vkml's own: install the distribution vkml "
                "(in its source tree: pip install -e .)"
            )
        if self._telling:  # a plug-in that is being tried for such an error runs into another one
            return f"installed: {', '.join(self.backends.sources())}"
        self._telling = True
        try:
            return self._surveyed()
        finally:
            self._telling = False

    def _surveyed(self) -> str:
        """Say what is available and what fails, for an error that is about neither of these.

        So nothing is imported here for it: backends that were not met yet are tried in processes
        of their own, until they have worked once; where no process can be started they are only
        named.
        """
        from vkml_core.trials.process import cannot_start
        from vkml_core.trials.running import Trials

        wanted, why_not = self._unasked(), cannot_start()
        strangers = [source for source in self.strangers() if source in wanted]
        new = [source for source in strangers if source not in self._listed]
        with Trials([] if why_not else new, "list", _LISTING) as trials:
            found = {s: trials.of(s.name) for s in new if s.name in trials}
        tried = {s: list(trial.devices) for s, trial in found.items()}
        self._listed |= {s: names for s, names in tried.items() if not found[s].failures}
        here = {s: list(self.status(s).devices) for s in wanted if s not in strangers}
        devices = self._listed | tried | here
        available = ", ".join(d for s in wanted for d in devices.get(s, ())) or "none"
        if why_not and new:
            available += f"; not tried, since {why_not}: {', '.join(s.name for s in new)}"
        failed = [f for trial in found.values() for f in trial.failures.values()]
        return f"available: {available}{_blame([*self.failures(), *failed])}"

    def _found(self, name: str) -> Found | None:
        """Open a device and say what decides whether it is the best; None if it does not open."""
        try:
            capabilities = guard("open", self.open(name).capabilities)
        except (DeviceError, Refused):
            return None
        return Found(capabilities.level, serves_all(capabilities))

    def _open(self, name: str, index: int) -> Device:
        required = settings().require_level
        source = self.backends.sources()[name]
        key = join(name, index)
        backend, infos = self._ready(source)
        if index >= len(infos):
            listed = ", ".join(f"{join(name, i.index)} ({i.name})" for i in infos)
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


def _blame(failures: Sequence[Failure]) -> str:
    told = " | ".join(map(str, failures))
    return f"; what failed: {told}" if told else ""


DEVICES: Final = Devices()
"""Those of this process."""

open_device: Final = DEVICES.open
reopen_device: Final = DEVICES.reopen
canonical: Final = DEVICES.canonical
available_devices: Final = DEVICES.available
best_device: Final = DEVICES.best
default_device: Final = DEVICES.default
failures: Final = DEVICES.failures
sources: Final = DEVICES.backends.sources
register_backend: Final = DEVICES.backends.register
register_plugin: Final = DEVICES.backends.register_plugin
unregister_backend: Final = DEVICES.unregister
opened_devices: Final = DEVICES.opened
watch_devices: Final = DEVICES.watch
unwatch_devices: Final = DEVICES.unwatch

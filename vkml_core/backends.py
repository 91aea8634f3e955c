"""Backends by name: who offers them, taking one through its stages, and what failed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pluggy

from vkml_core.backend import Backend, DeviceInfo
from vkml_core.checks import check_backend, check_infos, check_probe, check_version
from vkml_core.discovery import Failure, Refused, Source, entry_points, guard, merge
from vkml_core.errors import RegistrationError
from vkml_core.hookspecs import hookimpl, offers

APPLICATION: Final = "this application"
"""Stands for the distribution of a backend that `register_backend` brought in."""
Found = tuple[list[Source], list[Failure]]


class _Offer:
    """The plug-in that `register_backend` makes of one backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    @hookimpl
    def vkml_backends(self) -> list[Backend]:
        return [self._backend]


class Backends:
    """Who offers which backend. Reads entry points at the first question, imports when asked."""

    def __init__(self, find: Callable[[], Found] = entry_points) -> None:
        self._find = find
        self._found: Found | None = None
        self._registered: dict[str, Source] = {}
        self._loaded: dict[str, Backend | Refused] = {}
        self._sources: dict[str, Source] | None = None

    def register(self, backend: Backend) -> None:
        """Add one backend of the application; see `register_plugin`."""
        self.register_plugin(_Offer(backend))

    def register_plugin(self, plugin: object) -> None:
        """Add the backends that a pluggy plug-in's hook `vkml_backends` gives: all or none.

        Raises RegistrationError naming the rule that is broken.
        """
        try:
            offered = offers(plugin)
        except pluggy.PluginValidationError as error:
            raise RegistrationError(f"register: {error}") from None
        if not offered:
            raise RegistrationError(f"register: {plugin!r} offers no backend by vkml_backends()")
        accepted: dict[str, Backend] = {}
        for backend in offered:
            name = _accept(backend)
            if name in self._registered or name in accepted:
                raise RegistrationError(f"register: backend {name!r} is registered already")
            accepted[name] = backend
        for name, backend in accepted.items():
            self._registered[name] = Source(name, APPLICATION, "", partial(_same, backend))
            self._changed(name)

    def unregister(self, name: str) -> None:
        """Take back a registered backend; raises RegistrationError if there is none."""
        if self._registered.pop(name, None) is None:
            raise RegistrationError(f"register: backend {name!r} was not registered")
        self._changed(name)

    def sources(self) -> dict[str, Source]:
        """Give who offers each name, by metadata only."""
        if self._sources is None:
            installed, _ = self._installed()
            by_name: dict[str, list[Source]] = {}
            for source in [*installed, *self._registered.values()]:
                by_name.setdefault(source.name, []).append(source)
            self._sources = {name: merge(name, by_name[name]) for name in sorted(by_name)}
        return self._sources

    def met(self, source: Source) -> bool:
        """Whether this process has loaded a backend, or tried to."""
        return source.name in self._loaded

    def unreadable(self) -> list[Failure]:
        """Give the distributions whose metadata could not be read, as far as looked at."""
        return [] if self._found is None else self._found[1]

    def ready(self, source: Source) -> tuple[Backend, tuple[DeviceInfo, ...]]:
        """Load, check and probe a backend and list its devices; raise Refused where that fails.

        Loading is tried once; a probe is asked each time, since what it looks at may be mended.
        """
        loaded = self._loaded.get(source.name)
        if loaded is None:
            loaded = self._loaded[source.name] = _load(source)
        if isinstance(loaded, Refused):
            raise loaded.with_traceback(None)  # the same instance is raised again each time
        check_probe(guard("probe", loaded.probe))
        return loaded, guard("probe", lambda: check_infos(loaded.devices()))

    def _changed(self, name: str) -> None:
        self._loaded.pop(name, None)
        self._sources = None

    def _installed(self) -> Found:
        if self._found is None:
            self._found = self._find()
        return self._found


def _same(backend: Backend) -> Backend:
    return backend


def _accept(backend: Any) -> str:
    """Check a backend that the application registers and give its name."""
    name = getattr(backend, "NAME", None)
    shown = name if isinstance(name, str) else type(backend).__name__
    try:
        check_version(backend, APPLICATION)
        check_backend(backend, shown)
    except Refused as refused:
        raise RegistrationError(f"register: backend {shown!r}: {refused.error}") from None
    return shown


def _load(source: Source) -> Backend | Refused:
    try:
        backend: Backend = guard("load", source.load)
        guard("version", check_version, backend, source.distribution)
        guard("check", check_backend, backend, source.name)
    except Refused as refused:
        return refused
    return backend

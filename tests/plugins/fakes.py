"""Backends whose devices do nothing, to be found, chosen and opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from vkml_core.backend import Available, Capabilities, DeviceInfo, DeviceKind, Level, Unavailable
from vkml_core.backends import Backends
from vkml_core.discovery import Source
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


CPU = Fake("cpu", "cpu")

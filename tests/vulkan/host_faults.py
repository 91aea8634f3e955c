"""Stands between vkml and the driver: counts calls, and makes chosen ones fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import needs_vulkan  # noqa: F401

from vkml_backend_vulkan import vk

LOST = "VK_ERROR_DEVICE_LOST"


class Faults:
    """The functions of the driver; those that `fail` names do not reach it."""

    def __init__(self, lib: Any) -> None:
        self._lib = lib
        self._instead: dict[str, tuple[int, Callable[..., Any]]] = {}
        self.calls: Counter[str] = Counter()

    def fail(self, name: str, result: str, *, after: int = 0) -> None:
        """Let every call of a function after the next `after` ones give a result."""
        self.replace(name, lambda *_: getattr(self._lib, result), after=after)

    def interrupt(self, name: str, *, after: int = 0) -> None:
        """Let one call of a function end as Ctrl-C ends it, after the next `after` ones."""

        def raising(*_: Any) -> None:
            del self._instead[name]
            raise KeyboardInterrupt

        self.replace(name, raising, after=after)

    def replace(self, name: str, function: Callable[..., Any], *, after: int = 0) -> None:
        """Put a function in the place of the driver's after so many more calls."""
        self._instead[name] = (self.calls[name] + after, function)

    def heal(self) -> None:
        """Let everything reach the driver again."""
        self._instead.clear()

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._lib, name)
        if not callable(real):
            return real
        self.calls[name] += 1  # every use looks its function up anew
        start, instead = self._instead.get(name, (0, real))
        return instead if self.calls[name] > start else real


@contextmanager
def faults() -> Iterator[Faults]:
    """Put a `Faults` before the driver."""
    real = vk.lib
    made = Faults(real)
    vk.lib = made  # type: ignore[misc]
    try:
        yield made
    finally:
        vk.lib = real  # type: ignore[misc]

"""The counters of modules with a seed of their own: giving them out, taking them in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from vkml_core.errors import ArgumentError, ArgumentTypeError
from vkml_core.graph import tracing
from vkml_core.live import Source, live
from vkml_core.shapes import to_int

if TYPE_CHECKING:
    from vkml_nn.module import Module

LIMIT: Final = 2**62
"""Counters stay below it, as those of the common generator do."""


class SeededCalls:
    """What a random module adds to Module: its seed, and how often it has drawn so far.

    `seed` is None for a module that follows `vkml.manual_seed`; its calls are counted there.
    """

    seed: int | None
    calls: int

    def next_call(self) -> tuple[int | None, int]:
        """Give the seed and the offset of the next draw, and count it."""
        trace = tracing()
        if trace is not None:
            calls: Any = trace.feed((SeededCalls, id(self)), lambda: _Calls(self))
            return self.seed, calls.next()
        self.calls += 1
        return self.seed, self.calls - 1


class _Calls:
    """The draws of one module in a compiled step, as a feed of their offsets."""

    def __init__(self, module: SeededCalls) -> None:
        self.module = module
        self.first = module.calls
        self.count = 0

    def next(self) -> int:
        """Give the live offset of one more draw."""
        i, self.count = self.count, self.count + 1
        key = "draw", id(self.module), i
        offset: int = live(self.first + i, Source(key, lambda: self.first + i, self))
        return offset

    def begin(self) -> None:
        """Nothing has to be remembered."""

    def holds(self) -> bool:
        """Nothing was decided by these numbers."""
        return True

    def take(self) -> bool:
        """Look where the module is."""
        self.first = self.module.calls
        return True

    def keep(self) -> None:
        """Count the draws, past the members of a module, which cost more."""
        vars(self.module)["calls"] = self.first + self.count

    def give_back(self) -> None:
        """Nothing was counted yet."""


def _seeded(module: Module) -> dict[str, SeededCalls]:
    return {
        name: m
        for name, m in module.named_modules()
        if isinstance(m, SeededCalls) and m.seed is not None
    }


def give(module: Module) -> dict[str, int]:
    """Give the number of calls so far of each seeded module, by dotted name."""
    return {name: m.calls for name, m in _seeded(module).items()}


def load(module: Module, given: Mapping[str, Any]) -> None:
    """Check everything, then set every counter."""
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(f"load_random_state: expected a dict, got {type(given).__name__}")
    have = _seeded(module)
    problems = {
        "missing names": [name for name in have if name not in given],
        "unexpected names": [str(name) for name in given if name not in have],
    }
    told = [f"{what}: {', '.join(map(repr, names))}" for what, names in problems.items() if names]
    if told:
        kind = type(module).__name__
        raise ArgumentError(f"load_random_state: does not fit {kind}: {'; '.join(told)}")
    counts = {name: _count(name, given[name]) for name in have}
    for name, m in have.items():
        m.calls = counts[name]


def _count(name: str, value: object) -> int:
    n = to_int(value, f"load_random_state: {name!r}")
    if not 0 <= n < LIMIT:
        raise ArgumentError(f"load_random_state: {name!r} must be from 0 to 2^62 − 1, got {n}")
    return n

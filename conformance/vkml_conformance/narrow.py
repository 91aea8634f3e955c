"""From a graph that two devices compute differently to its first operation whose bits differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from vkml_conformance.check import Difference
from vkml_conformance.engine import RUNS, compare
from vkml_conformance.named import place_of
from vkml_conformance.program import Program
from vkml_conformance.script import script_of
from vkml_conformance.shrink import equal, first_wrong, shrink
from vkml_conformance.trace import backend_of
from vkml_core import plugins

SHRINKING: Final = 20.0
"""Seconds that a reproducer may be made smaller for."""


@dataclass(frozen=True)
class Graph:
    """A graph whose results differ: its number from 1 on, where it is computed, what it is."""

    number: int
    computed_at: str
    """A line, `train.py:21`; empty where it is not known."""
    program: Program
    recorded_at: Sequence[str]
    """For each call the line that recorded it; empty where it is not known."""


@dataclass(frozen=True)
class Found:
    """The first operation whose bits differ between two devices."""

    devices: tuple[str, str]
    graph: Graph
    """The whole graph that it is in."""
    call: int | None
    """Which call of the graph is wrong by itself; None where it takes several."""
    program: Program
    """The least that shows it: one operation if that is wrong by itself."""
    difference: Difference | None
    """None where the graph alone does not show it again."""
    script: str
    """A reproducer: Python that needs vkml alone."""

    @property
    def recorded_at(self) -> str:
        """The line that recorded the operation; empty where several are needed."""
        return "" if self.call is None else self.graph.recorded_at[self.call]

    @property
    def message(self) -> str:
        """What was found, without the script."""
        ops = " → ".join(call.op for call in self.program.calls)
        at = f" (recorded at {self.recorded_at})" if self.recorded_at else ""
        line = self.graph.computed_at or "an unknown line"
        told = f"graph {self.graph.number}, computed at {line}: "
        if self.difference is None:
            return f"{told}{_NOT_AGAIN}"
        if self.call is not None:
            return f"{told}{ops}{at} differs: {self.difference}"
        return (
            f"{told}each operation alone is right, together they differ: {ops}: {self.difference}"
        )

    def __str__(self) -> str:
        return f"{self.message}\n\n{self.script}"


_NOT_AGAIN: Final = (
    "differs in this run, but not when it is run again by itself; look for what the device leaves "
    "in memory or does not wait for"
)


def narrow(devices: tuple[str, str], graph: Graph) -> Found:
    """Find the operation, and make the least program that shows it. Devices as for `bisect`."""
    with _registered(devices) as (a, b):
        differ = partial(_difference, a, b)
        wrong = first_wrong(graph.program, b, a)
        least = wrong.program if wrong is not None else graph.program
        if differ(least) is not None:
            least = shrink(least, lambda p: differ(p) is not None, SHRINKING)
        from_a, from_b = map(place_of, devices)
        script = script_of(least, b, from_b, reference=a, reference_backend=from_a)
        call = wrong.call if wrong is not None else None
        return Found(devices, graph, call, least, differ(least), script)


@contextmanager
def _registered(devices: Sequence[str]) -> Iterator[list[str]]:
    """Register backends that are not installed in this process too; gives the devices' names."""
    with ExitStack() as stack:
        names = []
        for device in devices:
            name, backend = backend_of(device)
            if backend is not None and name not in names:
                plugins.register_backend(backend)
                stack.callback(plugins.unregister_backend, name)
            names.append(name)
        yield [plugins.canonical(name) for name in names]


def _difference(a: str, b: str, program: Program) -> Difference | None:
    """Give the first bit that differs, in any way to run a program; None where all agree.

    What `b` raises is a difference; a program that `a` does not compute shows none.
    """
    with np.errstate(all="ignore"):
        for run, compute in RUNS.items():
            try:
                wanted = compute(program, a)[0]
            except Exception:
                return None
            try:
                got = compute(program, b)[0]
            except Exception as error:  # whatever a backend raises belongs into the message
                said = f"{type(error).__name__}: {error}"
                return Difference(program.results[0], run, 0, 0, (), said, "a result")
            for what, x, y in zip(program.results, got, wanted, strict=True):
                if not equal(x, y):
                    return compare(what, run, x, y, np.ones(y.shape, np.bool_))
    return None

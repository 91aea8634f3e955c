"""Shows how far a run is: live bars in a terminal, plain lines elsewhere. Needs rich."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from rich.console import Console
from rich.progress import BarColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Column
from rich.text import Text

from vkml_conformance.plain import shown

EVERY: Final = 10.0
"""Seconds between plain lines."""


@dataclass
class State:
    """How far a device is."""

    done: int = 0
    total: int = 0
    differing: int = 0
    current: str = ""
    told: int = -1
    """`done` when it was last told in a plain line."""


class Progress:
    """Takes news of devices and shows them while it is entered."""

    def __init__(
        self,
        console: Console,
        *,
        every: float = EVERY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._console, self._every, self._clock = console, every, clock
        self._states: dict[str, State] = {}
        self._tasks: dict[str, TaskID] = {}
        self._last = clock()
        live = console.is_terminal and not console.is_dumb_terminal
        self._bars = _bars(console) if live else None

    def __enter__(self) -> Self:
        if self._bars is not None:
            self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bars is not None:
            self._bars.stop()
        else:
            self._tell()

    def update(self, device: str, done: int, total: int, differing: int, current: str) -> None:
        """Take how many checks of a device are done, and what is being checked.

        `total` is 0 while it is not known.
        """
        state = self._states.setdefault(device, State())
        state.done, state.total, state.differing, state.current = done, total, differing, current
        if self._bars is not None:
            self._draw(device, state)
        elif self._clock() - self._last >= self._every:
            self._tell()

    def _draw(self, device: str, state: State) -> None:
        assert self._bars is not None
        name = shown(device, self._console.encoding)
        if device not in self._tasks:
            self._tasks[device] = self._bars.add_task(name, total=None, **self._fields(state))
        total = state.total or None
        self._bars.update(
            self._tasks[device], completed=state.done, total=total, **self._fields(state)
        )

    def _fields(self, state: State) -> dict[str, Any]:
        """Give what stands beside the bar."""
        count = f"{state.done:,}/{state.total:,}" if state.total else f"{state.done:,}"
        wrong = f"{state.differing:,} differ" if state.differing else ""
        current = shown(state.current.replace("\n", " "), self._console.encoding)
        return {"count": count, "wrong": wrong, "current": current}

    def _tell(self) -> None:
        """Print a line for each device of which there is news."""
        self._last = self._clock()
        for device, state in self._states.items():
            if state.done != state.told:
                state.told = state.done
                text = shown(_line(device, state), self._console.encoding)
                self._console.print(Text(text), soft_wrap=True)


def _bars(console: Console) -> Bars:
    """Lay out a line that stays whole at 80 columns: what is checked gives way first."""
    return Bars(
        TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True)),
        BarColumn(bar_width=14),
        TextColumn("{task.fields[count]}", markup=False, justify="right"),
        TextColumn("{task.fields[wrong]}", markup=False, style="bold red"),
        TimeRemainingColumn(compact=True),
        TextColumn(
            "{task.fields[current]}",
            markup=False,
            style="dim",
            table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
        ),
        console=console,
        expand=True,
        refresh_per_second=5,
    )


def _line(device: str, state: State) -> str:
    told = f"{device}: {state.done:,}"
    if state.total:
        told += f" of {state.total:,} checks ({state.done / state.total:.0%})"
    told += f", {state.differing:,} differ"
    return f"{told}; {state.current}" if state.current else told

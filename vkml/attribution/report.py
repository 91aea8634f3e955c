"""The report of a capture: where the time of its best round went, kernel by kernel."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vkml.attribution import chrome, explain, picture, tables
from vkml.attribution.account import UNATTRIBUTED, Account, Segment
from vkml.attribution.ceilings import Ceilings
from vkml.attribution.rows import KernelRow
from vkml_core.profile import SubmissionProfile


@dataclass(frozen=True, slots=True)
class Round:
    """A stretch of time that was captured, in nanoseconds of `time.perf_counter_ns`."""

    start: int
    end: int

    @property
    def wall(self) -> int:
        """How long it was."""
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Report:
    """Where time went. All categories are of the best round, and add up to its wall time.

    >>> import vkml
    >>> from vkml import attribution
    >>> x = vkml.ones(256, 256).realize()
    >>> report = attribution.measure(lambda: (x @ x).sum().item(), rounds=3)
    >>> sum(report.categories.values()) == report.wall
    True
    >>> sorted({row.ops for row in report.kernels})
    [('matmul',), ('sum',)]
    """

    account: Account
    kernels: tuple[KernelRow, ...]
    """The longest first."""
    rounds: tuple[Round, ...]
    best: int
    """Which of the rounds the account is of."""
    steps: int
    """Steps of the program in a round."""
    control: tuple[int, ...]
    """Wall nanoseconds of rounds of the same program without profiling; may be none."""
    devices: Mapping[str, str]
    """What the hardware is called, by device."""
    ceilings: Mapping[str, Ceilings]
    records: Mapping[str, Sequence[SubmissionProfile]]
    """What each device told of the best round."""
    host: Sequence[Segment]
    """The host's categories in the best round, without a gap."""
    notes: tuple[str, ...]
    """What a reader should know about what was measured."""

    @property
    def wall(self) -> int:
        """Nanoseconds of the best round."""
        return self.account.wall

    @property
    def categories(self) -> dict[str, int]:
        """Nanoseconds by category; the sum is `wall`."""
        return self.account.categories

    @property
    def busy(self) -> int:
        """Nanoseconds during which a kernel ran, whatever the host did."""
        return sum(self.account.busy.values())

    @property
    def attributed(self) -> float:
        """The part of the wall time that has a category, from 0 to 1."""
        return 1 - self.categories[UNATTRIBUTED] / self.wall if self.wall else 1.0

    @property
    def median(self) -> int:
        """Nanoseconds of the median round."""
        return round(statistics.median(r.wall for r in self.rounds))

    @property
    def noise(self) -> int | None:
        """How far the best of every other round is from the best of the rest; None if too few.

        The program is the same: differences up to that mean nothing.
        """
        walls = self.control or [r.wall for r in self.rounds]
        return abs(min(walls[::2]) - min(walls[1::2])) if len(walls) > 1 else None

    @property
    def cost(self) -> int | None:
        """What profiling adds to the best round; None without a control."""
        return self.wall - min(self.control) if self.control else None

    @property
    def submissions(self) -> int:
        """Submissions in the best round."""
        return sum(map(len, self.records.values()))

    @property
    def dispatches(self) -> int:
        """Dispatches in the best round."""
        return sum(row.dispatches for row in self.kernels)

    def table(self, limit: int = 12) -> str:
        """Give two tables: the categories, and the `limit` longest kernels."""
        return tables.table(self, limit)

    def text(self) -> str:
        """Explain what dominates, what bounds the kernels, and what to try."""
        return explain.text(self)

    def json(self) -> dict[str, Any]:
        """Give everything as what the module json can write."""
        return tables.as_json(self)

    def chrome_trace(self, path: str | Path) -> None:
        """Write the best round for Perfetto (ui.perfetto.dev) or chrome://tracing.

        Raises OSError.
        """
        chrome.write(self, Path(path))

    def png(self, path: str | Path) -> None:
        """Draw the categories and the kernels as bars; needs matplotlib (the extra `examples`).

        Raises ImportError, OSError.
        """
        picture.draw(self, Path(path))

"""Timestamps around every dispatch, read when a submission has finished; nothing while it is off.

Query pools are made when a submission is first timed, and used again.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.clocks import Calibration, Correlation, Ticks
from vkml_core.decisions import Decision
from vkml_core.plan import Plan
from vkml_core.profile import Clock, Dispatch, History, SubmissionProfile
from vkml_core.spans import Phase, span
from vkml_core.work import Done

_SMALLEST: Final = 64
"""Queries of the smallest pool; others have a power of two."""
_SAMPLE_AGE: Final = 10_000_000
"""Nanoseconds for which both clocks run alike: an hour's drift of 0.2 s is 0.5 µs in that time."""
_TOP: Final = vk.lib.VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT
_BOTTOM: Final = vk.lib.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT


class Timeable(Protocol):
    """The dispatches of one submission: their plan, and for each its step and its kernel."""

    @property
    def plan(self) -> Plan:
        """What they belong to."""

    @property
    def steps(self) -> Sequence[int]:
        """The step of each."""

    @property
    def kernels(self) -> Sequence[str]:
        """The module of each."""


class Timed:
    """Recorded commands that write timestamps; `pool` is None where nothing is timed.

    The pool comes back when nobody refers to this any more.
    """

    __slots__ = ("_dropped", "decisions", "kernels", "merged", "plan", "pool", "steps")

    def __init__(
        self,
        part: Timeable,
        decisions: Mapping[int, Decision],
        merged: Mapping[int, Done],
        pool: Any,
        dropped: deque[Any],
    ) -> None:
        self.plan = part.plan
        self.steps = part.steps
        self.kernels = part.kernels
        self.decisions = decisions
        self.merged = merged
        self.pool = pool
        self._dropped = dropped

    def __del__(self) -> None:
        # May run at any point of any thread: only queue it.
        if self.pool is not None:
            self._dropped.append(self.pool)


@dataclass(slots=True)
class _Run:
    """A submission of timed commands."""

    timed: Timed
    submitted: int
    number: int = 0


@dataclass(frozen=True, slots=True)
class _Read:
    """A submission that was known to have finished at `finished`, and its ticks."""

    run: _Run
    finished: int
    sample: tuple[int, int] | None
    ticks: Any


class Profiler:
    """Times the dispatches of submissions; its caller holds the device's lock.

    Commands are recorded between `begin` and the next one; each time that they are submitted,
    `start` comes before and `end` after that.
    """

    def __init__(self, device: Any, ticks: Ticks, calibration: Calibration) -> None:
        self._device = device
        self._ticks = ticks
        self._calibration = calibration
        self._correlation = Correlation(ticks)
        self._sizes: dict[Any, int] = {}
        self._free: dict[int, list[Any]] = {}
        self._dropped: deque[Any] = deque()
        self._pool: Any = None
        self._started: _Run | None = None
        self._running: deque[_Run] = deque()
        self._read: deque[_Read] = deque()
        self._sample: tuple[int, int] | None = None
        self._history = History()

    @property
    def timestamps_supported(self) -> bool:
        """Whether the queue has timestamps."""
        return self._ticks.bits > 0

    def begin(
        self,
        commands: Any,
        part: Timeable,
        decisions: Mapping[int, Decision],
        merged: Mapping[int, Done],
    ) -> Timed:
        """Start recording a part; `decisions` and `merged` are of its plan, by step."""
        self._pool, queries = None, 2 * len(part.steps)
        if self.timestamps_supported and queries:
            self._pool = self._take(queries)
            vk.lib.vkCmdResetQueryPool(commands, self._pool, 0, queries)
        return Timed(part, decisions, merged, self._pool, self._dropped)

    def before(self, commands: Any, i: int) -> None:
        """Record the time at which dispatch i begins, after its barrier."""
        if self._pool is not None:
            vk.lib.vkCmdWriteTimestamp(commands, _TOP, self._pool, 2 * i)

    def after(self, commands: Any, i: int) -> None:
        """Record the time at which dispatch i has ended."""
        if self._pool is not None:
            vk.lib.vkCmdWriteTimestamp(commands, _BOTTOM, self._pool, 2 * i + 1)

    def start(self, timed: Timed) -> None:
        """Note that commands are about to be submitted; their last submission has finished."""
        self._started = _Run(timed, time.perf_counter_ns())

    def end(self, submission: int) -> None:
        """Note the number under which they were submitted."""
        if self._started is not None:
            self._started.number = submission
            self._running.append(self._started)
            self._started = None

    def finished(self, done: int) -> None:
        """Read the times of all submissions up to `done`, which have finished just now."""
        if not self._running or self._running[0].number > done:
            return
        now = time.perf_counter_ns()
        with span(Phase.PROFILE):
            if self._sample is None or now - self._sample[1] > _SAMPLE_AGE:
                self._sample = self._calibration.sample()
            while self._running and self._running[0].number <= done:
                run = self._running.popleft()
                self._read.append(_Read(run, now, self._sample, self._ticks_of(run.timed)))
            while len(self._read) > self._history.most:
                self._read.popleft()

    def records(self) -> tuple[SubmissionProfile, ...]:
        """Give the submissions kept, oldest first. What costs time is done here, not before."""
        while self._read:
            self._keep(self._read.popleft())
        return self._history.records()

    def keep(self, most: int) -> None:
        """Keep the newest `most` submissions. Raises ArgumentError."""
        self._history.keep(most)

    def clear(self) -> None:
        """Forget all submissions."""
        self._read.clear()
        self._history.clear()

    def destroy(self) -> None:
        """Destroy the query pools; nothing may run that uses them."""
        self._running.clear()
        for pool in self._sizes:
            vk.destroy("vkDestroyQueryPool", self._device, pool)
        self._sizes.clear()
        self._free.clear()
        self._dropped.clear()

    def _keep(self, read: _Read) -> None:
        """Add a submission to the history."""
        dispatches: tuple[Dispatch, ...] = ()
        clock: Clock = "bounded" if read.sample is None else "calibrated"
        run, timed = read.run, read.run.timed
        if read.ticks is not None:
            mask = (1 << self._ticks.bits) - 1
            stamps = [v & mask for v in read.ticks]
            bounds = run.submitted, read.finished
            times, clock = self._correlation.to_host(stamps, *bounds, read.sample)
            pairs = zip(times[0::2], times[1::2], strict=True)
            told = zip(timed.steps, timed.kernels, pairs, strict=True)
            dispatches = tuple(Dispatch(step, kernel, *pair) for step, kernel, pair in told)
        found = SubmissionProfile(
            run.number,
            timed.plan,
            run.submitted,
            read.finished,
            dispatches,
            timed.decisions,
            clock,
            timed.merged,
        )
        self._history.add(found)

    def _ticks_of(self, timed: Timed) -> Any:
        """Read a C array of ticks, two for each dispatch; None if there are none."""
        if timed.pool is None:
            return None
        count = 2 * len(timed.steps)
        values = vk.ffi.new("uint64_t[]", count)
        flags = vk.lib.VK_QUERY_RESULT_64_BIT
        found = timed.pool, 0, count, 8 * count, values, 8, flags
        ready = vk.call("vkGetQueryPoolResults", self._device, *found) == vk.lib.VK_SUCCESS
        return values if ready else None

    def _take(self, queries: int) -> Any:
        """Give a pool of at least so many queries."""
        while self._dropped:
            pool = self._dropped.popleft()
            self._free[self._sizes[pool]].append(pool)
        size = max(_SMALLEST, 1 << (queries - 1).bit_length())
        free = self._free.setdefault(size, [])
        if free:
            return free.pop()
        kind = vk.lib.VK_QUERY_TYPE_TIMESTAMP
        info = vk.struct("VkQueryPoolCreateInfo", queryType=kind, queryCount=size)
        pool = vk.create("vkCreateQueryPool", self._device, info, vk.NULL)
        self._sizes[pool] = size
        return pool

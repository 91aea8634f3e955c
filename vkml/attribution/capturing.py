"""Capturing: phases of the calling thread and submissions of the devices, round by round."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from vkml.attribution.account import Interval, Segment, account, segments
from vkml.attribution.ceilings import Ceilings, raised
from vkml.attribution.report import Report, Round
from vkml.attribution.rows import KernelRow, intervals, owned, rows
from vkml_core import spans
from vkml_core.backend import Device, Profiling
from vkml_core.errors import ArgumentError, Error
from vkml_core.plugins import canonical, opened_devices, unwatch_devices, watch_devices
from vkml_core.profile import HISTORY, SubmissionProfile
from vkml_core.spans import Collector, Moment, Phase

MOST_SUBMISSIONS: Final = 10_000
"""Kept of each device; a capture of more is told from where it is complete."""
Records = Mapping[str, Sequence[SubmissionProfile]]


class Capture:
    """What `capture()` gives: use it as a context manager, then ask for its `report()`.

    Only the thread that enters it is followed. Devices that are profiled have their histories
    begun anew, and profiling is off afterwards.
    """

    def __init__(self, device: str | Iterable[str] | None = None) -> None:
        """`device` names one or some; without it, all that are open or get opened."""
        named = [device] if isinstance(device, str) else device
        self._wanted = None if named is None else {canonical(name) for name in named}
        self._devices: dict[str, Device] = {}
        self._records: dict[str, Sequence[SubmissionProfile]] = {}
        self._rounds: list[Round] = []
        self._collector: Collector | None = None
        self._start = 0
        self._ended = False

    def __enter__(self) -> Self:
        if spans.active is not None or self._collector is not None:
            raise ArgumentError(
                "attribution: a capture is running or was used before; captures do not nest, and "
                "each begins with capture()"
            )
        self._collector = Collector(time.perf_counter_ns)
        watch_devices(self._opened)
        spans.collect(self._collector)
        self._start = time.perf_counter_ns()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if not self._rounds:
                self._close(self._start)
        except Error:
            if error is None:
                raise
        finally:
            self._stop()

    def rounds(self, count: int) -> Iterator[int]:
        """Go through a loop `count` times, each a round of its own that ends with its work done.

        Raises ArgumentError.
        """
        for i in range(_positive("rounds", count)):
            start = time.perf_counter_ns()
            yield i
            self._close(start)

    def mark(self) -> None:
        """End a round here, with its work done, and begin the next: for loops of one's own.

        Raises ArgumentError outside of the capture.
        """
        if spans.active is None or spans.active is not self._collector:
            raise ArgumentError("attribution: mark: the capture is not running")
        self._close(self._rounds[-1].end if self._rounds else self._start)

    def report(self, *, steps: int = 1, control: Sequence[int] = ()) -> Report:
        """Give the account of the best round; `steps` tells how many steps a round has.

        `control` are wall nanoseconds of rounds without profiling. The first report on a device
        measures its ceilings. Raises ArgumentError before the capture has ended.
        """
        if not self._ended or not self._rounds:
            why = "has no complete round" if self._ended else "has not ended"
            raise ArgumentError(f"attribution: nothing to report: the capture {why}")
        complete = [i for i, r in enumerate(self._rounds) if r.start >= self._known_from()]
        choice = complete or range(len(self._rounds))
        best = min(choice, key=lambda i: self._rounds[i].wall)
        return self._report(best, _positive("steps", steps), tuple(control))

    def _report(self, best: int, steps: int, control: tuple[int, ...]) -> Report:
        chosen = self._rounds[best]
        records = {name: _during(rs, chosen) for name, rs in self._records.items()}
        found = owned(records)
        on_host = {s.owner for s in found if s.clock == "host"}
        ran = intervals(found)
        host = self._host(chosen)
        divided = account(
            host,
            [i for i in ran if i.owner not in on_host],
            [e for rs in records.values() for r in rs if (e := _extent(r))],
            [i for i in ran if i.owner in on_host],
        )
        used = [name for name, rs in records.items() if rs]
        kernels = tuple(rows(found, divided.busy))
        return Report(
            account=divided,
            kernels=kernels,
            rounds=tuple(self._rounds),
            best=best,
            steps=steps,
            control=control,
            devices={name: self._devices[name].name for name in used},
            ceilings={name: _ceilings(name, self._devices[name], kernels) for name in used},
            records={name: records[name] for name in used},
            host=host,
            notes=tuple(self._notes(chosen, records)),
        )

    def _opened(self, name: str, device: Device) -> None:
        """Begin to profile a device."""
        if self._wanted is not None and name not in self._wanted:
            return
        self._devices[name] = device
        if isinstance(device, Profiling):
            device.set_profile_history(MOST_SUBMISSIONS)
            device.set_profiling(True)

    def _close(self, start: int) -> None:
        """End a round once the devices have finished what was submitted."""
        with spans.span(Phase.WAIT):
            for device in self._devices.values():
                device.synchronize()
        self._rounds.append(Round(start, time.perf_counter_ns()))

    def _stop(self) -> None:
        """Let go of devices and phases; a lost device does not stand in the way."""
        spans.stop()
        unwatch_devices(self._opened)
        for name, device in self._devices.items():
            if isinstance(device, Profiling):
                with suppress(Error):
                    self._records[name] = device.profile_records()
                    device.set_profiling(False)
                    device.set_profile_history(HISTORY)
        self._ended = True

    def _known_from(self) -> int:
        """Tell since when all submissions are kept."""
        full = [rs[0].submitted for rs in self._records.values() if len(rs) >= MOST_SUBMISSIONS]
        return max(full, default=self._start)

    def _host(self, chosen: Round) -> list[Segment]:
        """Give the host's categories in a round."""
        assert self._collector is not None
        known = max(chosen.start, min(self._known_from(), chosen.end))
        moments = between(self._collector.moments, known, chosen.end)
        return segments(moments, chosen.start, chosen.end, self._collector.full_since)

    def _notes(self, chosen: Round, records: Records) -> Iterator[str]:
        assert self._collector is not None
        for name, device in self._devices.items():
            if not isinstance(device, Profiling):
                yield f"{name} does not profile: its kernels are part of the host's time."
            elif not device.timestamps_supported:
                yield f"{name} has no timestamps: its kernels are part of the time waited for it."
        if chosen.start < self._known_from():
            yield (
                f"More than {MOST_SUBMISSIONS} submissions: those before are not known, and that "
                "time is unattributed; capture less, or in rounds."
            )
        if self._collector.full_since is not None:
            yield "More phases than are kept: what came later is unattributed; capture less."
        if not any(r.dispatches for rs in records.values() for r in rs):
            yield "No kernel was timed."


def capture(device: str | Iterable[str] | None = None) -> Capture:
    """Capture what happens inside, to learn where its time goes.

    `device` names one or some devices; without it, all that are open or get opened meanwhile.
    Raises DeviceError for a name that nobody offers, ArgumentError where a capture runs already.

    >>> import vkml
    >>> from vkml import attribution
    >>> x = vkml.ones(64, 64).realize()
    >>> with attribution.capture() as c:
    ...     for _ in c.rounds(3):
    ...         y = (x @ x).sum().item()
    >>> print(c.report().table())  # doctest: +ELLIPSIS
    wall time ...
    """
    return Capture(device)


def measure(
    step: Callable[[], object],
    *,
    rounds: int = 5,
    steps: int = 1,
    warmup: int = 2,
    device: str | Iterable[str] | None = None,
) -> Report:
    """Run `step` in rounds of `steps`, first without profiling as a control, then captured.

    Before that, `warmup` rounds are not measured. Raises as `capture` and `step` do.
    """
    _positive("rounds", rounds)
    _positive("steps", steps)
    for _ in range(warmup):
        _repeat(step, steps)
    control = [_timed(step, steps) for _ in range(rounds)]
    captured = Capture(device)
    with captured:
        _repeat(step, steps)  # what the first captured round needs anew, such as query pools
        for _ in captured.rounds(rounds):
            _repeat(step, steps)
    return captured.report(steps=steps, control=control)


def between(moments: Sequence[Moment], start: int, end: int) -> list[Moment]:
    """Give the moments of a stretch; the phase that lasts at its start begins there."""
    first = bisect_right(moments, start, key=lambda m: m[0])
    last = bisect_left(moments, end, key=lambda m: m[0])
    before = [(start, moments[first - 1][1])] if first else []
    found = [*before, *moments[first : max(first, last)]]
    return found or [(end, Phase.PYTHON)]


def _repeat(step: Callable[[], object], steps: int) -> None:
    for _ in range(steps):
        step()


def _timed(step: Callable[[], object], steps: int) -> int:
    """Give the nanoseconds of a round, to the end of its work on the devices."""
    start = time.perf_counter_ns()
    _repeat(step, steps)
    for device in opened_devices().values():
        device.synchronize()
    return time.perf_counter_ns() - start


def _ceilings(name: str, device: Device, kernels: Iterable[KernelRow]) -> Ceilings:
    return raised(device, max((k.rate for k in kernels if k.device == name), default=0.0))


def _during(records: Iterable[SubmissionProfile], chosen: Round) -> list[SubmissionProfile]:
    return [r for r in records if chosen.start <= r.submitted < chosen.end]


def _extent(record: SubmissionProfile) -> Interval | None:
    """Give from when to when a submission's kernels ran on a device with a clock of its own."""
    if record.clock == "host" or not record.dispatches:
        return None
    dispatches = record.dispatches
    return Interval(min(d.start for d in dispatches), max(d.end for d in dispatches))


def _positive(what: str, number: object) -> int:
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ArgumentError(f"attribution: {what}: expected a whole number from 1, got {number!r}")
    return number

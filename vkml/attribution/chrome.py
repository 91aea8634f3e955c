"""A report in the Chrome trace format, which Perfetto's viewer opens.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU, its
JSON object form. Times there are microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vkml.attribution.account import Segment
from vkml_core.profile import Dispatch, StepProfile, SubmissionProfile

if TYPE_CHECKING:
    from vkml.attribution.report import Report

Event = dict[str, Any]
_HOST: Final = 1
"""The process of the host; devices follow."""


def write(report: Report, path: Path) -> None:
    """Write the best round. Raises OSError."""
    found: Event = {"traceEvents": list(events(report)), "displayTimeUnit": "ns"}
    found["otherData"] = {"wall_ns": report.wall, **report.devices}
    path.write_text(json.dumps(found) + "\n", encoding="utf-8")


def events(report: Report) -> Iterator[Event]:
    """Give the host's phases and each device's submissions and kernels."""
    zero = report.rounds[report.best].start
    yield from _named(_HOST, "host", {1: "the capturing thread"})
    yield from _phases(report.host, zero)
    for pid, (device, records) in enumerate(report.records.items(), _HOST + 1):
        submissions = _lanes([(r.submitted, r.finished) for r in records])
        kernels = _lanes([(d.start, d.end) for r in records for d in _dispatches(r)])
        many, more = (max(lanes, default=-1) + 1 for lanes in (submissions, kernels))
        threads = {i: f"submissions {i}" for i in range(many)}
        threads |= {many + i: f"kernels {i}" for i in range(more)}
        yield from _named(pid, f"{device}: {report.devices[device]}", threads)
        following = iter(kernels)
        for record, lane in zip(records, submissions, strict=True):
            yield _submission(record, (pid, lane), zero)
            for step in record.steps():
                for dispatch in step.dispatches:
                    where = pid, many + next(following)
                    yield _kernel(record, step, dispatch, where, zero)


def _dispatches(record: SubmissionProfile) -> Iterator[Dispatch]:
    """Give the dispatches of a submission, a step at a time."""
    return (d for step in record.steps() for d in step.dispatches)


def _named(pid: int, name: str, threads: dict[int, str]) -> Iterator[Event]:
    """Name a process and its threads."""
    yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
    for tid, thread in threads.items():
        yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": thread}}


def _complete(name: str, category: str, where: tuple[int, int], times: tuple[int, int]) -> Event:
    """Make a complete event of times since the beginning."""
    start, end = times
    pid, tid = where
    event = {"ph": "X", "name": name, "cat": category, "pid": pid, "tid": tid}
    return event | {"ts": start / 1e3, "dur": (end - start) / 1e3, "args": {}}


def _phases(host: Iterable[Segment], zero: int) -> Iterator[Event]:
    for interval, name in host:
        yield _complete(name, "host", (_HOST, 1), (interval.start - zero, interval.end - zero))


def _submission(record: SubmissionProfile, where: tuple[int, int], zero: int) -> Event:
    times = record.submitted - zero, record.finished - zero
    found = _complete(f"submission {record.number}", "submission", where, times)
    return found | {"args": {"dispatches": len(record.dispatches), "clock": record.clock}}


def _kernel(
    record: SubmissionProfile, step: StepProfile, d: Dispatch, where: tuple[int, int], zero: int
) -> Event:
    work = step.work
    found = _complete("+".join(work.ops), "kernel", where, (d.start - zero, d.end - zero))
    args = {
        "submission": record.number,
        "step": step.step,
        "kernel": d.kernel,
        "shapes": [list(s) for s in work.shapes],
        "dtype": work.dtype,
        "bytes": work.read + work.written,
        "flops": work.flops,
    }
    if step.decision is not None:
        args |= {"chose": step.decision.chose, "because": step.decision.because}
    return found | {"args": args}


def _lanes(times: Sequence[tuple[int, int]]) -> list[int]:
    """Give each stretch the first lane that is free: complete events of a lane may not overlap."""
    ends: list[int] = []
    found = [0] * len(times)
    for i in sorted(range(len(times)), key=times.__getitem__):
        start, end = times[i]
        lane = next((k for k, before in enumerate(ends) if before <= start), len(ends))
        ends[lane : lane + 1] = [end]
        found[i] = lane
    return found

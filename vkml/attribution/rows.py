"""One row for each kernel of a report: what it ran for, how long, how much work that was."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from vkml.attribution.account import Interval
from vkml_core.decisions import Decision
from vkml_core.profile import Clock, StepProfile, SubmissionProfile
from vkml_core.shapes import Shape

_SECOND: Final = 1e9


@dataclass(frozen=True, slots=True)
class KernelRow:
    """All runs of one kernel for the same operations on the same shapes."""

    device: str
    kernel: str
    ops: tuple[str, ...]
    """The operations that it does, more than one where they are fused."""
    shapes: tuple[Shape, ...]
    """Of what it reads, and last of what it writes."""
    dtype: str
    runs: int
    dispatches: int
    busy: int
    """Nanoseconds in the stretch, overlaps counted once."""
    alone: int
    """Nanoseconds of its dispatches, each in full: what rates are worked out from."""
    bytes: int
    flops: int
    decision: Decision | None

    @property
    def bandwidth(self) -> float:
        """Bytes a second."""
        return self.bytes * _SECOND / self.alone if self.alone else 0.0

    @property
    def rate(self) -> float:
        """Operations a second."""
        return self.flops * _SECOND / self.alone if self.alone else 0.0

    @property
    def name(self) -> str:
        """The operations and the shape of the result."""
        return f"{'+'.join(self.ops)} {'×'.join(map(str, self.shapes[-1])) or 'scalar'}"


@dataclass(frozen=True, slots=True)
class Owned:
    """A step that ran on a device; `owner` is the number by which intervals name it."""

    owner: int
    device: str
    step: StepProfile
    clock: Clock


def owned(records: Mapping[str, Iterable[SubmissionProfile]]) -> list[Owned]:
    """Number the steps of all submissions."""
    found = (
        (device, step, record.clock)
        for device, of_device in records.items()
        for record in of_device
        for step in record.steps()
    )
    return [Owned(i, *what) for i, what in enumerate(found)]


def intervals(steps: Iterable[Owned]) -> list[Interval]:
    """Give when each dispatch ran."""
    return [Interval(d.start, d.end, s.owner) for s in steps for d in s.step.dispatches]


def rows(steps: Iterable[Owned], busy: Mapping[int, int]) -> list[KernelRow]:
    """Add up the steps of a stretch, the longest first; `busy` is the stretch's, by owner."""
    found: dict[object, KernelRow] = {}
    for s in steps:
        row = _row(s, busy.get(s.owner, 0))
        key = row.device, row.kernel, row.ops, row.shapes, row.dtype
        found[key] = _sum(found[key], row) if key in found else row
    return sorted(found.values(), key=lambda r: (-r.busy, r.name))


def _row(s: Owned, busy: int) -> KernelRow:
    work = s.step.work
    return KernelRow(
        device=s.device,
        kernel=s.step.kernel,
        ops=work.ops,
        shapes=work.shapes,
        dtype=work.dtype,
        runs=1,
        dispatches=len(s.step.dispatches),
        busy=busy,
        alone=s.step.nanoseconds,
        bytes=work.read + work.written,
        flops=work.flops,
        decision=s.step.decision,
    )


def _sum(a: KernelRow, b: KernelRow) -> KernelRow:
    return replace(
        a,
        runs=a.runs + b.runs,
        dispatches=a.dispatches + b.dispatches,
        busy=a.busy + b.busy,
        alone=a.alone + b.alone,
        bytes=a.bytes + b.bytes,
        flops=a.flops + b.flops,
        decision=a.decision or b.decision,
    )

"""What a device that profiles tells: when each dispatch of a submission ran, and what it was for.

Times are nanoseconds of the host's `time.perf_counter_ns`, also where the device measured them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from vkml_core.decisions import Decision
from vkml_core.errors import ArgumentError
from vkml_core.plan import Plan
from vkml_core.work import Done, Work, work_of

HISTORY: Final = 256
"""Submissions kept unless `set_profile_history` says otherwise."""
Clock = Literal["calibrated", "bounded", "host"]
"""How the device's clock was brought to the host's: by the driver, by what each submission's own
beginning and end allow, or not at all since the host ran it."""


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One kernel that ran from `start` to `end` for a step of the plan."""

    step: int
    kernel: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class StepProfile:
    """One step that ran: its dispatches, its work by the plan, and why this kernel."""

    step: int
    dispatches: tuple[Dispatch, ...]
    work: Work
    decision: Decision | None

    @property
    def kernel(self) -> str:
        """The kernels, each once."""
        return " + ".join(dict.fromkeys(d.kernel for d in self.dispatches))

    @property
    def nanoseconds(self) -> int:
        """The sum of its dispatches' times."""
        return sum(d.end - d.start for d in self.dispatches)


@dataclass(frozen=True, slots=True)
class SubmissionProfile:
    """One submission: dispatches of `plan`, in order; none where the device has no timestamps."""

    number: int
    plan: Plan
    submitted: int
    """When the host began to hand it over."""
    finished: int
    """When the host knew that it had finished."""
    dispatches: tuple[Dispatch, ...]
    decisions: Mapping[int, Decision]
    """By step; a step that is not named had no choice."""
    clock: Clock
    merged: Mapping[int, Done] = field(default_factory=dict)
    """By step, what its kernels do where that is the work of neighbouring steps, too: those are
    not told."""

    def steps(self) -> Iterator[StepProfile]:
        """Give what ran, a step at a time, in order."""
        found: dict[int, list[Dispatch]] = {}
        for dispatch in self.dispatches:
            found.setdefault(dispatch.step, []).append(dispatch)
        for i, dispatches in found.items():
            work = work_of(self.merged.get(i, self.plan.steps[i]), self.plan.slots)
            yield StepProfile(i, tuple(dispatches), work, self.decisions.get(i))


class History:
    """The newest submissions that were profiled, and how many there were."""

    def __init__(self, most: int = HISTORY) -> None:
        self._kept: deque[SubmissionProfile] = deque(maxlen=most)
        self.added = 0

    def add(self, profile: SubmissionProfile) -> None:
        """Keep one; the oldest goes where there are too many."""
        self._kept.append(profile)
        self.added += 1

    def keep(self, most: int) -> None:
        """Keep the newest `most` from now on. Raises ArgumentError."""
        self._kept = deque(self._kept, maxlen=check_history(most))

    @property
    def most(self) -> int:
        """How many are kept at most."""
        return self._kept.maxlen or 0

    def records(self) -> tuple[SubmissionProfile, ...]:
        """Give those that are kept, oldest first."""
        return tuple(self._kept)

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()
        self.added = 0


def check_history(most: object) -> int:
    """Give `most` if it is a positive whole number. Raises ArgumentError."""
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise ArgumentError(
            f"set_profile_history: expected a positive whole number of submissions, got {most!r}"
        )
    return most

"""Decisions: which of several ways was taken, instead of which, and why; kept while recorded.

Whoever chooses publishes: a backend which kernel it took for a step of a plan. Nothing is kept,
and publishing costs next to nothing, until `record_decisions` is called.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from vkml_core.errors import ArgumentError


@dataclass(frozen=True, slots=True)
class Decision:
    """One choice."""

    site: str
    """Who chose, such as `vulkan.matmul`."""
    op: str
    """The operation that it was for."""
    chose: str
    instead: tuple[str, ...]
    """What else there was."""
    because: str
    required: Mapping[str, int] = field(default_factory=dict)
    """What the first choice needs of the device, by name."""
    available: Mapping[str, int] = field(default_factory=dict)
    """What the device has of that."""
    dispatch: str = ""
    """Where it runs: the submission and the step of its plan."""


class _Recorder:
    """The newest decisions, and how many there were."""

    def __init__(self) -> None:
        self.kept: deque[Decision] | None = None
        self.published = 0


_recorder: Final = _Recorder()


def record_decisions(capacity: int = 10_000) -> None:
    """Keep the newest `capacity` decisions from now on; forgets those that were kept.

    Raises ArgumentError if `capacity` is not a positive whole number.
    """
    if not isinstance(capacity, int) or isinstance(capacity, bool) or capacity < 1:
        raise ArgumentError(
            f"record_decisions: capacity must be a positive whole number, got {capacity!r}"
        )
    _recorder.kept, _recorder.published = deque(maxlen=capacity), 0


def stop_recording_decisions() -> None:
    """Keep no more decisions, and forget those that were kept."""
    _recorder.kept = None


def decisions() -> list[Decision]:
    """List the decisions that are kept, oldest first; none unless they are recorded.

    >>> record_decisions(); decisions(); stop_recording_decisions()
    []
    """
    return list(_recorder.kept or ())


def decisions_published() -> int:
    """Count the decisions since `record_decisions`, those included that are not kept any more."""
    return _recorder.published


def publish(found: tuple[Decision, ...], where: str) -> None:
    """For backends: record decisions that took effect at `where`, if anyone records."""
    kept = _recorder.kept
    if kept is not None:
        kept.extend(replace(d, dispatch=f"{where}, {d.dispatch}".rstrip(", ")) for d in found)
        _recorder.published += len(found)

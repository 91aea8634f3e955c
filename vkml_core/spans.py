"""Where the host's time goes: which phase one thread is in, noted while somebody collects.

Nothing is kept, and a place that tells its phase costs one comparison, while `active` is None.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from enum import Enum
from types import TracebackType
from typing import Final


class Phase(Enum):
    """What a thread is busy with; what no inner phase claims belongs to the outer one."""

    PYTHON = "Python"
    """The program itself, and what no other phase claims."""
    RECORD = "record"
    """Making the graph: operations, gradients, the optimiser's rules."""
    PLAN = "plan"
    """Finding or making the plan of a graph, and compiling it."""
    SUBMIT = "submit"
    """Handing a plan to the device."""
    WAIT = "wait"
    """Waiting for the device."""
    READ = "read"
    """Copying values between device and host."""
    PROFILE = "profile"
    """What profiling itself costs."""


Moment = tuple[int, Phase]
MOST_MOMENTS: Final = 1_000_000
"""What a collector keeps; what comes later is told as not kept."""


class Collector:
    """The phases of the thread that made it, as moments: (nanoseconds, the phase from then on).

    >>> clock = iter(range(0, 100, 10)).__next__
    >>> collector = Collector(clock)
    >>> depth = collector.enter(Phase.RECORD)
    >>> collector.leave(depth)
    >>> [(ns, phase.value) for ns, phase in collector.moments]
    [(0, 'Python'), (10, 'record'), (20, 'Python')]
    """

    def __init__(
        self, clock: Callable[[], int] = time.perf_counter_ns, most: int = MOST_MOMENTS
    ) -> None:
        self._clock = clock
        self._most = most
        self._thread = threading.get_ident()
        self._stack = [Phase.PYTHON]
        self.moments: list[Moment] = [(clock(), Phase.PYTHON)]
        self.full_since: int | None = None
        """When a moment was first not kept."""

    def enter(self, phase: Phase) -> int:
        """Begin a phase; give what `leave` needs, which is 0 on threads of others."""
        if threading.get_ident() != self._thread:
            return 0
        self._stack.append(phase)
        self._note(phase)
        return len(self._stack) - 1

    def leave(self, depth: int) -> None:
        """End the phase that `enter` began, and any inside it that an exception left open."""
        if depth:
            del self._stack[depth:]
            self._note(self._stack[-1])

    def _note(self, phase: Phase) -> None:
        if len(self.moments) < self._most:
            self.moments.append((self._clock(), phase))
        elif self.full_since is None:
            self.full_since = self._clock()


active: Collector | None = None
"""Who collects; set by `collect` and `stop` only."""


def collect(collector: Collector) -> None:
    """Let a collector hear of phases from now on."""
    global active
    active = collector


def stop() -> None:
    """Let nobody hear of phases any more."""
    global active
    active = None


class _Span:
    """A phase as a context manager."""

    __slots__ = ("_collector", "_depth", "_phase")

    def __init__(self, collector: Collector, phase: Phase) -> None:
        self._collector = collector
        self._phase = phase
        self._depth = 0

    def __enter__(self) -> None:
        self._depth = self._collector.enter(self._phase)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._collector.leave(self._depth)


class _Nothing:
    """What stands for a phase while nobody collects."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None


_NOTHING: Final = _Nothing()


def span(phase: Phase) -> _Span | _Nothing:
    """Give a context manager inside which the thread is in a phase."""
    collector = active
    return _NOTHING if collector is None else _Span(collector, phase)

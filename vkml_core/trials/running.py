"""Trials of several backends side by side."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from threading import Lock
from types import TracebackType
from typing import Final, Self

from vkml_core.discovery import Failure, Source
from vkml_core.trials.ending import ending
from vkml_core.trials.process import close, follow, kill, start
from vkml_core.trials.request import Request
from vkml_core.trials.trial import LIMIT, Reach, Trial, seconds

_CURE: Final = (
    "update or reinstall {distribution}, or what it loads (a driver, a native library); until then "
    "VKML_EXCLUDE={name} keeps best_device() and available_devices() away from it"
)
_WAIT: Final = "; `vkml doctor --limit {seconds:g}` waits longer"


class Trials:
    """A process for each backend; leaving the block ends those that still run."""

    def __init__(
        self, sources: Iterable[Source], reach: Reach = "all", limit: float = LIMIT
    ) -> None:
        self._requests = {
            s.name: Request(s.name, s.distribution, s.version, s.target, reach, limit)
            for s in sources
        }
        self._threads = ThreadPoolExecutor(len(self._requests) or 1)
        self._lock = Lock()
        self._left = False
        self._children: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        self._futures: dict[str, Future[Trial]] = {
            name: self._threads.submit(self._all_of, request)
            for name, request in self._requests.items()
        }
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._lock:
            self._left = True
            for child in self._children:
                kill(child)
        self._threads.shutdown()

    def __contains__(self, name: str) -> bool:
        return name in self._requests

    def of(self, name: str, patience: float | None = None) -> Trial:
        """Give the trial of a backend. Raises TimeoutError where it still runs after so long."""
        return self._futures[name].result(patience)

    def _all_of(self, request: Request) -> Trial:
        """Try a backend. Where a device takes the process along, another one tries the rest."""
        while True:
            trial = self._once(request)
            if trial.finished or trial.stage != "open" or self._left:
                return trial
            request = replace(request, trial=trial)

    def _once(self, request: Request) -> Trial:
        try:
            child = self._started(request.to_json())
        except OSError as error:
            trial = _failed(request, request.trial, f"its process did not start ({error})")
            return replace(trial, finished=True)
        try:
            out, err = follow(child, seconds("open", request.limit))
            status = child.poll()
        finally:
            with self._lock:
                self._children.remove(child)
            close(child)
        trial = last(out, request.trial)
        if trial.finished:
            return trial
        return _failed(request, trial, ending(status, err, seconds(trial.stage, request.limit)))

    def _started(self, request: str) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._left:
                raise OSError("the trials were ended")
            child = start(request)
            self._children.append(child)
            return child


def last(out: bytes, before: Trial) -> Trial:
    """Read the last state that was told in full, or give the one before."""
    lines = out[: out.rfind(b"\n") + 1].splitlines()
    return Trial.from_json(lines[-1]) if lines else before


def _failed(request: Request, trial: Trial, error: str) -> Trial:
    """Note that the process of a trial ended before its time."""
    name = trial.at if trial.stage == "open" else request.name
    advice = _CURE.format(distribution=request.distribution, name=request.name)
    if "was stopped" in error:
        advice += _WAIT.format(seconds=3 * request.limit)
    failure = Failure(name, request.distribution, request.version, trial.stage, error, advice)
    return replace(trial, failures={**trial.failures, name: failure})

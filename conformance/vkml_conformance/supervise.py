"""Runs workers side by side, each a process, and survives what happens to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from vkml_conformance.journal import (
    AT,
    DONE,
    END,
    FAILED,
    LOST,
    OPENED,
    SCRIPT,
    STAGE,
    Entry,
    Reader,
)
from vkml_conformance.worker import Request

MAX_LOSSES: Final = 5
"""A device whose process was lost so often is not tried again."""
PATIENCE: Final = 2
"""After so many losses in one operation the rest of its checks is not run."""
POLL: Final = 0.02
"""Seconds between looks at the journals."""
GRACE: Final = 5.0
"""Seconds in which a process that is done may close its device."""
SAID: Final = 2000
"""Characters kept of the last that a lost process printed."""


@dataclass
class Loss:
    """A process that crashed, or that was ended since nothing came from it."""

    timed_out: bool
    number: int | None
    """The check that it ran; None while the backend was loaded."""
    op: str
    """The operation of that check; the rest of its checks is not run."""
    message: str


@dataclass
class Lane:
    """What is left to do of one shard of a device, and what came of it so far."""

    request: Request
    folder: Path
    opened: Entry | None = None
    failed: str = ""
    done: dict[int, Entry] = field(default_factory=dict)
    losses: list[Loss] = field(default_factory=list)
    at: int | None = None
    op: str = ""
    ended: bool = False
    heard: float = 0.0
    process: subprocess.Popen[bytes] | None = None
    reader: Reader | None = None

    def start(self) -> None:
        """Start a process for what is left."""
        turn = len(self.losses)
        stem = self.folder / f"shard-{self.request.shard}-{turn}"
        lost = (loss.number for loss in self.losses if loss.number is not None)
        after = max([self.request.after, *self.done, *lost])
        journal = stem.with_suffix(".jsonl")
        journal.unlink(missing_ok=True)  # of an earlier run into the same folder
        without = tuple(op for op, lost in self._lost_in().items() if lost >= PATIENCE)
        request = self.request.model_copy(
            update={"journal": journal, "after": after, "without": without}
        )
        stem.with_suffix(".request.json").write_text(request.model_dump_json())
        with stem.with_suffix(".log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "vkml_conformance.worker", f"{stem}.request.json"],
                stdin=subprocess.PIPE,  # its end tells the worker that nobody listens any more
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
            )
        self.reader, self.at, self.heard = Reader(journal), None, time.monotonic()

    def _lost_in(self) -> dict[str, int]:
        """Count losses by operation; a hang, which costs its time, counts as enough."""
        found: dict[str, int] = {}
        for loss in self.losses:
            found[loss.op] = found.get(loss.op, 0) + (PATIENCE if loss.timed_out else 1)
        return found

    def listen(self) -> Iterator[Entry]:
        """Take what the process has written since, and note it."""
        assert self.reader is not None
        for entry in self.reader.read():
            self.heard = time.monotonic()
            _NOTE[next(k for k in _NOTE if k in entry)](self, entry)
            yield entry

    def look(self, limit: float) -> None:
        """See whether the process has ended, or is to be ended since it is silent."""
        assert self.process is not None
        status = self.process.poll()
        if self.ended or self.failed:  # it has said its last word
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(GRACE)
            self.stop()
        elif status is not None:
            for _ in self.listen():
                pass
            if not self.ended and not self.failed:
                self._lost(f"its process ended with {_ending(status)}", timed_out=False)
            self._close()
        elif time.monotonic() - self.heard > limit:
            self.stop()
            self._lost(f"nothing came for {limit:g} s", timed_out=True)

    def _lost(self, message: str, *, timed_out: bool) -> None:
        printed = (self.folder / f"shard-{self.request.shard}-{len(self.losses)}.log").read_bytes()
        said = printed[-SAID:].decode(errors="replace").strip()
        told = f"{message}; the last that it printed:\n{said}" if said else message
        self.losses.append(Loss(timed_out, self.at, self.op, told))
        self.ended = self.at is None or len(self.losses) >= MAX_LOSSES

    def _close(self) -> None:
        if self.process is not None and self.process.stdin is not None:
            self.process.stdin.close()
        self.process = None
        self.ended = self.ended or bool(self.failed)

    def stop(self) -> None:
        """End the process, and those that it started."""
        if self.process is not None:
            _kill(self.process)
            self._close()


def _opened(lane: Lane, entry: Entry) -> None:
    lane.opened = {**entry[OPENED], "level": entry["level"]}


def _failed(lane: Lane, entry: Entry) -> None:
    lane.failed = entry[FAILED]


def _at(lane: Lane, entry: Entry) -> None:
    lane.at, lane.op = entry[AT], entry["op"]


def _done(lane: Lane, entry: Entry) -> None:
    lane.done[entry[DONE]] = entry


def _script(lane: Lane, entry: Entry) -> None:
    lane.done[entry[SCRIPT]][SCRIPT] = entry["text"]


def _end(lane: Lane, entry: Entry) -> None:
    lane.ended = True


_NOTE: Final[dict[str, Callable[[Lane, Entry], None]]] = {
    AT: _at,
    DONE: _done,
    SCRIPT: _script,
    OPENED: _opened,
    FAILED: _failed,
    END: _end,
    STAGE: lambda lane, entry: None,
}


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    process.wait()


def _ending(status: int) -> str:
    if status >= 0:
        return f"status {status}"
    with suppress(ValueError):
        return f"{signal.Signals(-status).name} (signal {-status})"
    return f"signal {-status}"


def supervise(
    lanes: Sequence[Lane],
    *,
    jobs: int,
    limit: float,
    heard: Callable[[Lane, Entry], bool] = lambda lane, entry: True,
) -> None:
    """Run all lanes, `jobs` at once, until each has ended or `heard` says False for an entry.

    `limit` is the seconds without a sign of life after which a process is ended.
    """
    waiting, running = list(lanes), list[Lane]()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                running.append(waiting.pop(0))
            for lane in running:
                if lane.process is None:
                    lane.start()
                if not all(heard(lane, entry) for entry in lane.listen()):
                    return
                lost = len(lane.losses)
                lane.look(limit)
                if len(lane.losses) > lost and not heard(lane, {LOST: True}):
                    return
            running = [lane for lane in running if not lane.ended]
            time.sleep(POLL)
    finally:
        for lane in running:
            lane.stop()

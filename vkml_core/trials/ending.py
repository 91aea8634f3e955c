"""How the process of a trial came to its end, in words: a signal, the time limit, a status."""

from __future__ import annotations

import re
import signal
import sysconfig
from contextlib import suppress
from typing import Final

_FRAME: Final = re.compile(r'^  File "(.+)", line (\d+) in (.+)$', re.MULTILINE)
"""A line of a traceback as faulthandler writes it; the innermost call comes first."""
_LATE: Final = re.compile(r"^Timeout \(\d+:\d\d:\d\d(\.\d+)?\)!$", re.MULTILINE)
_FATAL: Final = re.compile(r"^Fatal Python error: .*$", re.MULTILINE)
_PACKAGES: Final = re.compile(r"(site|dist)-packages")


def ending(status: int | None, err: bytes, limit: float) -> str:
    """Say what became of a process, with where it was and what it said last."""
    text = err.decode(errors="replace")
    late, fatal = _LATE.search(text), _FATAL.search(text)
    mark = late or fatal
    said, trace = (text[: mark.start()], text[mark.end() :]) if mark else (text, "")
    if late or status is None:
        how = f"did not come to an end within {limit:g} s and was stopped"
    elif status < 0:
        how = f"was killed by {_signal(-status)}"
    else:
        how = f"ended by itself with status {status}"
    last = said.strip().splitlines()[-1:]
    return f"its process {how}" + "".join(f" ({told})" for told in [*_where(trace), *last])


def _signal(number: int) -> str:
    with suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def _where(trace: str) -> list[str]:
    """Give the innermost line that is not Python's own library's, of the thread that matters."""
    _, marked, thread = trace.partition("Current thread ")
    if not marked:  # a timeout: every thread is listed, the main one last
        thread = trace.rpartition("Thread ")[2]
    frames = [f for f in _FRAME.findall(thread.split("\n\n")[0]) if not _library(f[0])]
    return [f"{file}, line {line}, in {function}" for file, line, function in frames[:1]]


def _library(file: str) -> bool:
    inside = file.startswith(sysconfig.get_path("stdlib")) and not _PACKAGES.search(file)
    return inside or file.startswith("<frozen")

"""Starts the process of a trial, waits for it, and ends it with all that it has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

INSIDE: Final = "VKML_INSIDE_TRIAL"
"""Set in trials: a plug-in that asks for an unknown device there starts no trials in turn."""
MODULE: Final = "vkml_core.trials"
_INTERPRETERS: Final = ("python", "pypy")
_GRACE: Final = 5.0
"""How much later than its own limit a process is given up."""
_LOOK: Final = 0.5


def cannot_start() -> str:
    """Say why no trial can be started from here; "" if it can."""
    if os.environ.get(INSIDE):
        return "this process is a trial itself"
    if getattr(sys, "frozen", False):
        return "the program is frozen"
    named = Path(sys.executable or "").name.lower().startswith(_INTERPRETERS)
    return "" if named else f"{sys.executable or 'sys.executable'} is no Python interpreter"


def start(request: str) -> subprocess.Popen[bytes]:
    """Start a trial, which imports from where this process does and from nowhere else (-P).

    It leads a process group, so that it can be ended together with what it starts.
    """
    path = os.pathsep.join(filter(None, (p or _here() for p in sys.path)))
    return subprocess.Popen(
        [sys.executable, "-P", "-m", MODULE, request],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path, INSIDE: "1"},
        start_new_session=True,
    )


def _here() -> str:
    """Give the working directory; "" where it was removed."""
    with suppress(OSError):
        return str(Path.cwd())
    return ""


def follow(child: subprocess.Popen[bytes], longest: float) -> tuple[bytes, bytes]:
    """Wait for a process; give its standard output and error.

    It ends by itself when a stage takes too long. One that does not is given up, and so is a pipe
    that another process holds after this one has ended.
    """
    seen, since = b"", time.monotonic()
    while True:
        try:
            return child.communicate(timeout=_LOOK)
        except subprocess.TimeoutExpired as waiting:
            out = waiting.output or b""
            if out != seen:
                seen, since = out, time.monotonic()
            if child.poll() is not None or time.monotonic() - since > longest + _GRACE:
                return out, waiting.stderr or b""


def kill(child: subprocess.Popen[bytes]) -> None:
    """End a process and what it has started."""
    with suppress(OSError):
        if os.name == "posix":
            os.killpg(child.pid, signal.SIGKILL)
        else:
            child.kill()


def close(child: subprocess.Popen[bytes]) -> None:
    """End a process and forget it. One that a driver holds in the kernel is left behind."""
    kill(child)
    with suppress(subprocess.TimeoutExpired):
        child.wait(_GRACE)
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()

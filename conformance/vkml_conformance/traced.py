"""A script that runs in a process of its own on one device, as seen by `bisect`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from vkml_core.errors import Error

Event = dict[str, Any]
_LINES: Final = 12
"""Lines of what the process printed last that a message shows."""


class BisectError(Error, RuntimeError):
    """Why two runs of a script cannot be compared, and what to do about it."""


class Traced:
    """The process. Events are read one at a time; between them it waits."""

    def __init__(self, script: Path, device: str, arguments: Sequence[str]) -> None:
        self.device = device
        self._log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        command = [sys.executable, "-m", "vkml_conformance.trace", device, str(script), *arguments]
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
        )

    def __enter__(self) -> Traced:
        return self

    def __exit__(self, *error: object) -> None:
        """End the process, whatever it does."""
        self._process.kill()
        self._process.communicate()
        self._log.close()

    def event(self) -> Event:
        """Wait for what happens next. Raises BisectError where the process ends without a word."""
        assert self._process.stdout is not None  # it is a pipe
        line = self._process.stdout.readline()
        if not line:
            code = self._process.wait()
            how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
            raise BisectError(
                f"{self.device}: the process ended with {how}; it printed last:\n{self.printed()}"
            )
        found: Event = json.loads(line)
        return found

    def answer(self, text: str) -> None:
        """Let it go on. If it has died meanwhile, `event` will tell."""
        assert self._process.stdin is not None  # it is a pipe
        with suppress(BrokenPipeError):
            self._process.stdin.write(text + "\n")
            self._process.stdin.flush()

    def printed(self) -> str:
        """Give the last lines that the process printed."""
        self._log.seek(0)
        return "\n".join(self._log.read().splitlines()[-_LINES:])

"""The self-test in a process of its own: a driver that crashes or hangs takes only that along."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from vkml_backend_vulkan.instance import Physical
from vkml_backend_vulkan.selftest.verdict import Verdict, refusal
from vkml_core.errors import DeviceError

SECONDS: Final = 120.0
"""The time limit. A software rasteriser that keeps no pipelines takes ten seconds."""
_GRACE: Final = 5.0
_INTERPRETERS: Final = ("python", "pypy")
REFUSED: Final = "refused"
"""The key of the only entry of an answer that is no verdict."""


def judged(physical: Physical, identity: str, directory: Path) -> Verdict:
    """Run the self-test in a child process, or in this one where no child can be started.

    Raises DeviceError where the device is refused, whatever became of the child.
    """
    lacking = no_interpreter()
    if lacking:
        from vkml_backend_vulkan.selftest.judge import judge

        found = judge(physical, directory)
        return replace(found, tested=f"{found.tested}, in the program's own process: {lacking}")
    return _verdict(physical, _answer(physical, command(identity, directory)))


def no_interpreter() -> str:
    """Say why this process cannot start a Python of its kind; "" if it can."""
    if getattr(sys, "frozen", False):
        return "the program is frozen"
    if not sys.executable:
        return "sys.executable is not set"
    named = Path(sys.executable).name.lower().startswith(_INTERPRETERS)
    return "" if named else f"{sys.executable} is no Python interpreter"


def command(identity: str, directory: Path) -> list[str]:
    """Give the child's command line; nothing from the working directory is imported (-P)."""
    module = "vkml_backend_vulkan.selftest"
    return [sys.executable, "-P", "-m", module, identity, str(directory)]


def _answer(physical: Physical, arguments: list[str]) -> str:
    """Start the child and give what it printed. Raises DeviceError if it did not end well."""
    try:
        child = _start(arguments)
    except OSError as error:
        raise refusal(physical, f"its process did not start ({error})") from error
    try:
        out, err = child.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        reason = f"its process did not finish within {SECONDS:g} s and was stopped"
        raise refusal(physical, reason) from None
    finally:
        _stop(child)
    if child.returncode:
        raise refusal(physical, _ending(child.returncode, err))
    return out.decode(errors="replace")


def _start(arguments: list[str]) -> subprocess.Popen[bytes]:
    """Start the child in the same environment; it imports from where this process does."""
    path = os.pathsep.join(p or os.getcwd() for p in sys.path)  # noqa: PTH109
    return subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path},
    )


def _stop(child: subprocess.Popen[bytes]) -> None:
    """Kill the child if it still runs. One that a driver holds in the kernel is left behind."""
    if child.poll() is None:
        child.kill()
        with suppress(subprocess.TimeoutExpired):
            child.wait(_GRACE)
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()


def _ending(status: int, err: bytes) -> str:
    """Say how a child ended, with the last line of what it complained about."""
    how = f"ended with status {status}"
    if status < 0:
        with suppress(ValueError):
            how = f"was killed by {signal.Signals(-status).name}"
    lines = err.decode(errors="replace").strip().splitlines()
    return f"its process {how}" + (f" ({lines[-1]})" if lines else "")


def _verdict(physical: Physical, answer: str) -> Verdict:
    """Read the child's answer. Raises DeviceError for a refusal, and for anything unknown."""
    try:
        data = json.loads(answer)
        if isinstance(data, dict) and data.keys() == {REFUSED}:
            raise DeviceError(str(data[REFUSED]))
        return Verdict.from_json(answer)
    except ValueError:
        said = answer if len(answer) <= 80 else answer[:80] + "…"
        raise refusal(physical, f"its process answered {said!r}") from None

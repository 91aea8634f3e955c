"""Kills processes that save, and looks at what they leave: `python kills.py MODE FOLDER`.

It is a program of its own, since a process of many threads should not fork.
"""

from __future__ import annotations

import functools
import os
import random
import resource
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.numpy

import vkml

CALLS = ("open", "close", "stat", "lstat", "fstat", "access", "chmod", "fsync", "replace")


def content(which: int) -> dict[str, Any]:
    array = np.random.default_rng(which).standard_normal((300, 300 + 40 * which), np.float32)
    return {"model": {"w": vkml.tensor(array)}, "which": which}


def which(path: Path) -> int:
    """The number of the content that a file has, after a look at every value."""
    found = vkml.load(path)
    want = content(found["which"])
    assert np.array_equal(found["model"]["w"].numpy(), want["model"]["w"].numpy())
    number: int = found["which"]
    return number


def child(work: Callable[[], object]) -> int:
    """Fork; the child works and exits."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    return pid


def at_random(folder: Path) -> None:
    """Kill a child that saves in a loop; read meanwhile and afterwards."""
    path = folder / "x"
    both = [content(0), content(1)]
    vkml.save(both[0], path)

    def work() -> None:
        for i in range(10**9):
            vkml.save(both[i % 2], path)

    rng, seen = random.Random(0), set()
    for _ in range(60):
        pid = child(work)
        end = time.monotonic() + rng.uniform(0.002, 0.05)
        while time.monotonic() < end:
            seen.add(which(path))
        os.kill(pid, signal.SIGKILL)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
        seen.add(which(path))
    assert seen == {0, 1}


def at_boundaries(folder: Path) -> None:
    """Kill a child before and after each call that it makes of the system and of the library."""
    both, number = [content(0), content(1)], 0
    after_replacing: list[int] = []
    while True:
        path = folder / str(number) / "x"
        path.parent.mkdir()
        vkml.save(both[0], path)
        pid = child(functools.partial(dying_save, both[1], path, number))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        after_replacing.append(which(path))
        assert len([*path.parent.iterdir()]) <= 2
        if code == 0:
            break
        assert code == -signal.SIGKILL
        number += 1
    changed = after_replacing.index(1)
    assert number > 20 and 5 < changed < number - 3, after_replacing
    assert after_replacing == [0] * changed + [1] * (number + 1 - changed)
    print(number, "boundaries")


def dying_save(obj: Any, path: Path, number: int) -> None:
    """Save, and be killed at a boundary."""
    left = number

    def boundary() -> None:
        nonlocal left
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left -= 1

    def watched(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            boundary()
            result = function(*args, **kwargs)
            boundary()
            return result

        return call

    for name in CALLS:
        setattr(os, name, watched(getattr(os, name)))
    safetensors.numpy.save_file = watched(safetensors.numpy.save_file)
    vkml.save(obj, path)


def at_sizes(folder: Path) -> None:
    """Have the system kill a child, and then refuse it, when a file grows past a limit."""
    path, both = folder / "x", [content(0), content(1)]
    vkml.save(both[0], path)

    def work(limit: int, action: signal.Handlers) -> None:
        signal.signal(signal.SIGXFSZ, action)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            vkml.save(both[1], path)
        except OSError as error:
            os._exit(error.errno or 0)

    for limit in (0, 8, 100, 4096, 200_000, 400_000):
        for action in (signal.SIG_DFL, signal.SIG_IGN):
            before = {*folder.iterdir()}
            pid = child(functools.partial(work, limit, action))
            code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            killed = action == signal.SIG_DFL
            assert code == (-signal.SIGXFSZ if killed else 27), code  # EFBIG
            assert which(path) == 0
            assert killed or {*folder.iterdir()} == before, "a refused writer leaves nothing"


if __name__ == "__main__":
    {"random": at_random, "boundaries": at_boundaries, "sizes": at_sizes}[sys.argv[1]](
        Path(sys.argv[2])
    )

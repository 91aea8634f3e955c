"""Replacing a file so that its name stands for the old content or the new at any moment.

The new content goes to a file beside it, is forced to the disk, and takes over the name.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable
from pathlib import Path

from vkml_core.errors import ArgumentError, ArgumentTypeError


def path_arg(path: object, what: str) -> Path:
    """Check that an argument names a file."""
    if isinstance(path, str | bytes | os.PathLike):
        return Path(os.fsdecode(path))
    raise ArgumentTypeError(f"{what}: expected a path, got {type(path).__name__}")


def replace(path: Path, write: Callable[[Path], None]) -> None:
    """Have `write(name)` make a file, and put it in the place of `path` or of what that links to.

    The permissions of an existing file stay. Whatever goes wrong, the old file is untouched and
    the new one removed; the OSError or what `write` raised is passed on.
    """
    mode = _mode(path)
    target = path.resolve(strict=mode is not None)
    beside = target.parent / f".vkml-{secrets.token_hex(16)}.tmp"
    try:
        created = _create(beside)
        write(beside)
        beside.chmod(created if mode is None else mode)
        _sync(beside, os.O_RDWR)
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    if hasattr(os, "O_DIRECTORY"):
        _sync(target.parent, os.O_RDONLY | os.O_DIRECTORY)


def _mode(path: Path) -> int | None:
    """Give the permissions of a file that may be replaced; None where there is none yet."""
    try:
        found = path.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found):
        raise ArgumentError(f"save: {path} is not a regular file")
    if not os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return stat.S_IMODE(found)


def _create(path: Path) -> int:
    """Make an empty file as the system makes new files, and give its permissions."""
    opened = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
    try:
        return stat.S_IMODE(os.fstat(opened).st_mode)
    finally:
        os.close(opened)


def _sync(path: Path, flags: int) -> None:
    opened = os.open(path, flags)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)

"""A sign of life from inside a long check, so that slow is told from hanging."""

from __future__ import annotations

from collections.abc import Callable


def _nobody() -> None:
    """Tell nobody, outside of a worker."""


_tell: Callable[[], None] = _nobody


def listen(tell: Callable[[], None]) -> None:
    """Have `tell` called at each beat."""
    global _tell
    _tell = tell


def beat() -> None:
    """Say that something was computed."""
    _tell()

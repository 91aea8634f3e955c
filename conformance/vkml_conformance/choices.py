"""Streams of choices that random graphs are made from."""

from __future__ import annotations

import hashlib
from typing import Protocol


class Choices(Protocol):
    """A stream of choices."""

    def choose(self, n: int) -> int:
        """Give a number from 0 to n − 1."""


class Chooser:
    """A stream that is a function of a name: alike on every machine and in every version."""

    def __init__(self, name: str) -> None:
        self._name, self._at, self._bytes = name.encode(), 0, b""

    def choose(self, n: int) -> int:
        """Give a number from 0 to n − 1."""
        if self._at + 4 > len(self._bytes):
            self._bytes = hashlib.shake_256(self._name).digest(2 * len(self._bytes) + 4096)
        word = self._bytes[self._at : self._at + 4]
        self._at += 4
        return int.from_bytes(word, "little") % n

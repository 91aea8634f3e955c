"""Recorded command buffers found again: by executable and the addresses that they are bound to."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any, Final

from vkml_backend_vulkan.queue import Queue
from vkml_backend_vulkan.recorded import CommandPool, Recorded

MOST_RECORDED: Final = 256
"""Recordings that are remembered, of all executables; least recently used first out."""
MOST_DISPATCHES: Final = 1 << 16
"""Dispatches in what is remembered: a driver takes memory for each."""
MOST_COPIES: Final = 4
"""Command buffers for the same addresses: each may be in flight once."""
Key = tuple[int, ...]
"""The number of an executable, then addresses. Whose memory is there now does not matter."""


class _Copies:
    """What was recorded for the same addresses, and when one of them was last asked for."""

    __slots__ = ("recorded", "used")

    def __init__(self) -> None:
        self.recorded: deque[Recorded] = deque()
        self.used = 0


class Replays:
    """What was recorded on a device, bounded. Its caller holds the device's lock."""

    def __init__(self, device: Any, family: int, queue: Queue) -> None:
        self._queue = queue
        self.pool: Final = CommandPool(device, family)
        self._kept: dict[Key, _Copies] = {}
        self._count = self._dispatches = self._asked = 0
        self._numbers = itertools.count(1)
        self.gone: deque[int] = deque()
        """Numbers of executables that are no more; may grow in any thread."""

    def number(self) -> int:
        """Give the number of a new executable."""
        return next(self._numbers)

    def find(self, key: Key) -> Recorded | None:
        """Give what was recorded for `key` and is not in flight, or None to record it."""
        copies = self._kept.get(key)
        if copies is None:
            return None
        self._asked = copies.used = self._asked + 1
        oldest = copies.recorded[0]
        if oldest.submission > self._queue.finished:
            self._queue.poll()
            if oldest.submission > self._queue.finished:
                if len(copies.recorded) < MOST_COPIES:
                    return None
                self._queue.wait(oldest.submission)
        if len(copies.recorded) > 1:
            copies.recorded.rotate(-1)
        return oldest

    def add(self, key: Key, recorded: Recorded) -> None:
        """Remember what was recorded; what was not used for longest is forgotten for it."""
        self.collect()
        copies = self._kept.setdefault(key, _Copies())
        copies.recorded.append(recorded)
        self._asked = copies.used = self._asked + 1
        self._count += 1
        self._dispatches += recorded.dispatches
        while len(self._kept) > 1 and self._is_full():
            self._forget(min(self._kept, key=lambda k: self._kept[k].used))

    def collect(self) -> None:
        """Forget what executables recorded that are no more."""
        if self.gone:
            gone = {self.gone.popleft() for _ in range(len(self.gone))}
            for key in [k for k in self._kept if k[0] in gone]:
                self._forget(key)

    def clear(self) -> None:
        """Forget everything: the VkBuffers that commands name are about to be destroyed."""
        self._kept.clear()
        self._count = self._dispatches = 0
        self.pool.free()

    def destroy(self) -> None:
        """Destroy all command buffers; nothing may be in flight."""
        self._kept.clear()
        self.pool.destroy()

    def stats(self) -> dict[str, float]:
        """Count the command buffers made, and the sets of addresses remembered."""
        self.collect()
        return {"command_buffers": self.pool.made, "recorded_address_sets": len(self._kept)}

    def _is_full(self) -> bool:
        return self._count > MOST_RECORDED or self._dispatches > MOST_DISPATCHES

    def _forget(self, key: Key) -> None:
        copies = self._kept.pop(key).recorded
        self._count -= len(copies)
        self._dispatches -= sum(recorded.dispatches for recorded in copies)

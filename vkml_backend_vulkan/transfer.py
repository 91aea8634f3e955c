"""Moving bytes between host and device: directly where memory is mapped, else through a ring.

Uploads through the ring are recorded at the start of the next submission, whatever it is, so that
they need none of their own.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.barriers import FILLED
from vkml_backend_vulkan.memory import Buffer, Pool
from vkml_backend_vulkan.queue import Queue
from vkml_backend_vulkan.recorded import Ready
from vkml_core.backend import Array

RING_BYTES: Final = 32 << 20
CHUNK_BYTES: Final = RING_BYTES // 4
_ALIGNMENT: Final = 16


@dataclass(frozen=True, slots=True)
class _Copy:
    """An upload that goes with `submission`: `size` bytes of the ring to `buffer`."""

    submission: int
    source: int
    buffer: Buffer
    offset: int
    size: int


class Transfer:
    """Uploads and downloads; its caller holds the device's lock."""

    def __init__(self, queue: Queue, device: Pool, host: Pool) -> None:
        """`host` is a mapped pool; it is the same as `device` where that is mapped."""
        self._queue = queue
        self._device = device
        self._ring = None if device.mapped else host.allocate(RING_BYTES)
        self._head = 0
        self._used: deque[tuple[int, int, int]] = deque()
        self._copies: list[_Copy] = []
        self._region = vk.struct("VkBufferCopy")

    def upload(self, array: Array) -> Buffer:
        """Copy a contiguous array into a new buffer."""
        buffer = self._device.allocate(array.nbytes)
        source = array.reshape(-1).view(np.uint8)
        if self._ring is None:
            vk.ffi.memmove(buffer.host, vk.ffi.from_buffer(source), source.nbytes)
            return buffer
        for at in range(0, source.nbytes, CHUNK_BYTES):
            piece = source[at : at + CHUNK_BYTES]
            place = self._take(piece.nbytes)
            vk.ffi.memmove(self._ring.host + place, vk.ffi.from_buffer(piece), piece.nbytes)
            self._copies.append(_Copy(self._queue.next, place, buffer, at, piece.nbytes))
        buffer.submission = self._queue.next
        return buffer

    def download(self, buffer: Buffer, into: Array) -> None:
        """Copy a buffer into a contiguous array once its value is there.

        A small result was copied by its own run to where the host sees it: no submission is needed.
        """
        target = into.reshape(-1).view(np.uint8)
        if self._ring is None:
            self._queue.wait(buffer.submission)
            vk.ffi.memmove(vk.ffi.from_buffer(target), buffer.host, target.nbytes)
            return
        mirrored = None if buffer.mirror is None else buffer.mirror.copy_of(buffer)
        if mirrored is not None:
            self._queue.wait(buffer.submission)
            vk.ffi.memmove(vk.ffi.from_buffer(target), mirrored, target.nbytes)
            return
        for at in range(0, target.nbytes, CHUNK_BYTES):
            piece = target[at : at + CHUNK_BYTES]
            place = self._take(piece.nbytes)
            self.copy(self.begin(), buffer, at, self._ring, place, piece.nbytes)
            self._queue.wait(self._queue.submit((buffer,), "a download"))
            vk.ffi.memmove(vk.ffi.from_buffer(piece), self._ring.host + place, piece.nbytes)

    def begin(self) -> Any:
        """Begin a submission, which first does the uploads that wait."""
        commands = self._queue.begin()
        if self._ring is not None and self._waiting():
            for c in self._copies:
                self.copy(commands, self._ring, c.source, c.buffer, c.offset, c.size)
            FILLED.record(commands)
        return commands

    def replay(self, ready: Ready, keep: Sequence[object], what: object) -> int:
        """Submit what is recorded, after the uploads that wait; give its number."""
        if self._ring is None or not self._waiting():
            return self._queue.replay(ready, keep, what)
        self.begin()
        return self._queue.submit(keep, what, then=ready)

    def flush(self) -> None:
        """Submit the uploads that wait, if any."""
        if self._waiting():
            self.begin()
            self._queue.submit([c.buffer for c in self._copies], "uploads")
            self._copies.clear()

    def copy(
        self, commands: Any, source: Buffer, at: int, target: Buffer, to: int, size: int
    ) -> None:
        """Record a copy of bytes."""
        region = self._region
        region.srcOffset, region.dstOffset, region.size = source.start + at, target.start + to, size
        vk.lib.vkCmdCopyBuffer(commands, source.block.buffer, target.block.buffer, 1, region)

    def _waiting(self) -> bool:
        """Forget the uploads that were submitted; one that could not be goes with the next."""
        if self._copies:
            self._copies = [c for c in self._copies if c.submission > self._queue.submitted]
        return bool(self._copies)

    def _take(self, size: int) -> int:
        """Give a place in the ring, once what used it has finished."""
        size = -(-size // _ALIGNMENT) * _ALIGNMENT
        start = self._head if self._head + size <= RING_BYTES else 0
        while any(s < start + size and start < e for s, e, _ in self._used):
            oldest = self._used[0][2]
            if oldest > self._queue.submitted:
                self.flush()
            if oldest <= self._queue.submitted:  # else it was for a download that never began
                self._queue.wait(oldest)
            self._used.popleft()
        self._head = start + size
        self._used.append((start, self._head, self._queue.next))
        return start

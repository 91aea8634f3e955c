"""Buffers in host memory, counted: bytes in use, their peak, and who holds the most."""

from __future__ import annotations

import weakref
from collections import Counter
from typing import Final

from vkml_core.backend import Array


class HostMemory:
    """Counts the bytes of the buffers made from it."""

    def __init__(self) -> None:
        self.allocated = 0
        self.freed = 0  # apart, since a buffer may be freed while another is being counted
        self.peak = 0
        self.buffers = 0
        self._live: weakref.WeakSet[HostBuffer] = weakref.WeakSet()

    def add(self, buffer: HostBuffer) -> None:
        """Count a new buffer."""
        self.allocated += buffer.nbytes
        self.buffers += 1
        self.peak = max(self.peak, self.in_use)
        self._live.add(buffer)

    @property
    def in_use(self) -> int:
        """Bytes of the buffers that are still referenced."""
        return self.allocated - self.freed

    def stats(self) -> dict[str, float]:
        """Give the counts under the names that every backend uses."""
        return {
            "reserved_bytes": self.in_use,
            "in_use_bytes": self.in_use,
            "peak_bytes": self.peak,
            "live_allocations": len(self._live),
            "total_allocations": self.buffers,
        }

    def holders(self, most: int = 5) -> str:
        """Describe the largest buffers that are still referenced."""
        found = Counter((b.nbytes, b.array.dtype.name, b.array.shape) for b in self._live)
        largest = sorted(found, key=lambda kind: kind[0], reverse=True)[:most]
        shown = [f"{found[k]} × {k[1]}{k[2]} of {k[0]:,} bytes" for k in largest]
        return ", ".join(shown) or "none"


class HostBuffer:
    """Contiguous elements in host memory. `array` is read-only: an `assign` puts another there."""

    __slots__ = ("__weakref__", "_memory", "array", "nbytes")

    def __init__(self, array: Array, memory: HostMemory) -> None:
        array.flags.writeable = False
        self.array = array
        self.nbytes: Final = array.nbytes
        self._memory = memory
        memory.add(self)

    def __del__(self) -> None:
        self._memory.freed += self.nbytes

"""Device memory: blocks of 64 MiB and more, cut into buffers of multiples of 64 bytes, and cached.

A freed range joins its free neighbours and is used again; blocks are given back to the driver only
when memory runs out.
"""

from __future__ import annotations

import weakref
from collections import Counter, deque
from collections.abc import Callable
from typing import Any, Final

from vkml_backend_vulkan.block import Block
from vkml_backend_vulkan.free_ranges import padded
from vkml_backend_vulkan.heaps import heap_left
from vkml_backend_vulkan.instance import Physical
from vkml_core.errors import OutOfMemoryError

BLOCK_BYTES: Final = 64 << 20


class Buffer:
    """A range of a block; it goes back to its pool when it is no longer referenced."""

    __slots__ = ("__weakref__", "_pool", "block", "nbytes", "start", "submission")

    def __init__(self, pool: Pool, block: Block, start: int, nbytes: int) -> None:
        self._pool = pool
        self.block = block
        self.start = start
        self.nbytes: Final = nbytes
        self.submission = 0
        """The submission that writes it; 0 if none does."""

    @property
    def address(self) -> int:
        """What a kernel knows it by."""
        return self.block.address + self.start

    @property
    def host(self) -> Any:
        """Where the host sees it; only in mapped pools."""
        return self.block.host + self.start

    def swap(self, other: Buffer) -> None:
        """Exchange memory with another buffer of as many bytes of the same pool."""
        self.block, other.block = other.block, self.block
        self.start, other.start = other.start, self.start

    def __del__(self) -> None:
        # May run at any point of any thread, the pool's own code included: only queue it.
        self._pool.dropped.append((self.block, self.start, self.nbytes))


class Pool:
    """Buffers of one memory type. Its caller holds the device's lock."""

    def __init__(
        self,
        device: Any,
        physical: Physical,
        memory_type: int,
        *,
        mapped: bool,
        finish: Callable[[], None],
    ) -> None:
        """`finish` waits for all submissions and drops what they kept alive."""
        self.dropped: deque[tuple[Block, int, int]] = deque()
        self.mapped: Final = mapped
        self._device = device
        self._physical = physical
        self._type = memory_type
        self._finish = finish
        self._blocks: list[Block] = []
        self._live: weakref.WeakSet[Buffer] = weakref.WeakSet()
        self.reserved = self.in_use = self.peak = self.total = 0

    def allocate(self, nbytes: int) -> Buffer:
        """Give a buffer of undefined bytes. Raises OutOfMemoryError after one retry."""
        size = padded(nbytes)
        self.collect()
        found = self._find(size) or self._grow(size, nbytes)
        buffer = Buffer(self, *found, nbytes)
        self._live.add(buffer)
        self.total += 1
        self.in_use += size
        self.peak = max(self.peak, self.in_use)
        return buffer

    def fits(self, nbytes: int) -> bool:
        """Whether there is room for so many bytes, not whether it is in one piece."""
        self.collect()
        free = self.reserved - self.in_use
        return nbytes <= free or nbytes <= free + self._left()

    def collect(self) -> None:
        """Take back the ranges of buffers that are gone."""
        while self.dropped:
            block, start, nbytes = self.dropped.popleft()
            block.free.give(start, padded(nbytes))
            self.in_use -= padded(nbytes)

    def trim(self) -> None:
        """Give the blocks back in which nothing is in use."""
        self.collect()
        for block in [b for b in self._blocks if b.free.empty]:
            self._blocks.remove(block)
            self.reserved -= block.free.size
            block.destroy()

    def destroy(self) -> None:
        """Give everything back; buffers that are still referenced are void."""
        for block in self._blocks:
            block.destroy()
        self._blocks.clear()

    def stats(self) -> dict[str, float]:
        """Give the counts under the names that every backend uses."""
        self.collect()
        return {
            "reserved_bytes": self.reserved,
            "in_use_bytes": self.in_use,
            "peak_bytes": self.peak,
            "live_allocations": len(self._live),
            "total_allocations": self.total,
            "blocks": len(self._blocks),
        }

    def usage(self) -> str:
        """Describe what is used, by whom, and what the heap has left."""
        heap = self._physical.memory_types[self._type].heap_bytes
        return (
            f"{self._physical.name} has {self._left():,} of {heap:,} bytes left; {self.in_use:,} "
            f"of {self.reserved:,} reserved are in use; largest holders: {self.holders() or 'none'}"
        )

    def holders(self, most: int = 5) -> str:
        """Describe the largest buffers that are still referenced."""
        found = Counter(b.nbytes for b in self._live)
        return ", ".join(f"{found[n]} × {n:,} bytes" for n in sorted(found)[: -most - 1 : -1])

    def _left(self) -> int:
        p = self._physical
        return heap_left(p.handle, p.memory_types[self._type], self.reserved, budget=p.budget)

    def _find(self, size: int) -> tuple[Block, int] | None:
        for block in self._blocks:
            start = block.free.take(size)
            if start is not None:
                return block, start
        return None

    def _grow(self, size: int, nbytes: int) -> tuple[Block, int]:
        largest = self._physical.max_allocation
        if size > largest:
            raise self._out_of_memory(nbytes)
        try:
            return self._carve(max(size, min(BLOCK_BYTES, largest)), size)
        except OutOfMemoryError:
            self._finish()
            self.trim()
        try:
            return self._find(size) or self._carve(size, size)
        except OutOfMemoryError as error:
            raise self._out_of_memory(nbytes) from error

    def _carve(self, block_bytes: int, size: int) -> tuple[Block, int]:
        if len(self._blocks) >= self._physical.max_allocations - 64:  # some are left to the driver
            raise self._out_of_memory(size)
        block = Block(self._device, block_bytes, self._type, mapped=self.mapped)
        self._blocks.append(block)
        self.reserved += block_bytes
        start = block.free.take(size)
        assert start is not None
        return block, start

    def _out_of_memory(self, nbytes: int) -> OutOfMemoryError:
        p = self._physical
        return OutOfMemoryError(
            f"vulkan: out of memory on {p.name}: {nbytes:,} bytes wanted; {self.in_use:,} in use, "
            f"{self.reserved:,} reserved in {len(self._blocks)} blocks (limits: "
            f"{p.memory_types[self._type].heap_bytes:,} bytes in all, {p.max_allocation:,} in one "
            f"allocation, {p.max_allocations:,} allocations); largest holders: "
            f"{self.holders() or 'none'}; free tensors or use smaller batches"
        )

"""Device memory: blocks of 64 MiB and more, cut into buffers of multiples of 64 bytes, and cached.

A freed range serves the next buffer of its size, the lowest address first, so that a loop meets the
same addresses again. When nothing else is free, freed ranges join their neighbours; blocks are
given back to the driver only when memory runs out.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import repeat
from typing import Any, Final

from vkml_backend_vulkan.block import Block, Range
from vkml_backend_vulkan.free_ranges import padded
from vkml_backend_vulkan.heaps import heap_left
from vkml_backend_vulkan.instance import Physical
from vkml_core.errors import OutOfMemoryError

BLOCK_BYTES: Final = 64 << 20


class Buffer:
    """Device memory of a tensor; its range goes back to the pool when it is no longer referenced.

    `place` may be exchanged for another range of the same size.
    """

    __slots__ = ("_pool", "mirror", "nbytes", "place", "submission")

    def __init__(self, pool: Pool, place: Range, nbytes: int) -> None:
        self._pool = pool
        self.place = place
        self.nbytes: Final = nbytes
        self.submission = 0
        """The submission that writes it; 0 if none does."""
        self.mirror: Mirror | None = None
        """Where that submission leaves a copy of it for the host, if it does."""

    @property
    def block(self) -> Block:
        """The block that its range is in."""
        return self.place.block

    @property
    def start(self) -> int:
        """Where in the block it begins."""
        return self.place.start

    @property
    def address(self) -> int:
        """What a kernel knows it by."""
        return self.place.address

    @property
    def host(self) -> Any:
        """Where the host sees it; only in mapped pools."""
        return self.place.block.host + self.place.start

    def __del__(self) -> None:
        # May run at any point of any thread, the pool's own code included: only queue it.
        self._pool.dropped.append((self.place, self.nbytes))


class Mirror:
    """Memory of the host for copies of a small result: that of `submission` is there."""

    __slots__ = ("memory", "submission")

    def __init__(self, memory: Buffer) -> None:
        self.memory: Final = memory
        self.submission = 0

    def copy_of(self, buffer: Buffer) -> Any:
        """Give the host's address of a copy of `buffer` as it is now, or None if it is gone."""
        return self.memory.host if self.submission == buffer.submission else None


def exchange(these: Sequence[Buffer], those: Sequence[Buffer]) -> None:
    """Exchange the memory of buffers with that of as many others, pair by pair, of equal sizes.

    All at once: nothing that interrupts Python finds a part of it done.
    """
    buffers = [*these, *those]
    places = [b.place for b in (*those, *these)]
    deque(map(setattr, buffers, repeat("place"), places), maxlen=0)


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
        self.dropped: deque[tuple[Range, int]] = deque()
        """Ranges of buffers that are gone, with the bytes that these held."""
        self.mapped: Final = mapped
        self._device = device
        self._physical = physical
        self._type = memory_type
        self._finish = finish
        self._blocks: list[Block] = []
        self._freed: dict[int, list[tuple[int, Range]]] = {}
        """Heaps of free ranges, each after its address, by size; blocks count them as taken."""
        self._live: defaultdict[int, int] = defaultdict(int)
        """How many buffers of so many bytes there are."""
        self.reserved = self.in_use = self.peak = self.total = 0

    def allocate(self, nbytes: int) -> Buffer:
        """Give a buffer of undefined bytes. Raises OutOfMemoryError after one retry."""
        size = padded(nbytes)
        if self.dropped:
            self.collect()
        freed = self._freed.get(size)
        place = heappop(freed)[1] if freed else self._find(size) or self._grow(size, nbytes)
        self._live[nbytes] += 1
        self.total += 1
        self.in_use += size
        if self.in_use > self.peak:
            self.peak = self.in_use
        return Buffer(self, place, nbytes)

    def holds(self, nbytes: int) -> bool:
        """Whether so many bytes of what is reserved are free, told at once."""
        if self.dropped:
            self.collect()
        return nbytes <= self.reserved - self.in_use

    def fits(self, nbytes: int) -> bool:
        """Whether there is room for so many bytes, not whether it is in one piece."""
        return self.holds(nbytes) or nbytes <= self.reserved - self.in_use + self._left()

    def collect(self) -> None:
        """Take back the ranges of buffers that are gone."""
        dropped, freed, live = self.dropped, self._freed, self._live
        while dropped:
            place, nbytes = dropped.popleft()
            heap = freed.get(place.size)
            if heap is None:
                heap = freed[place.size] = []
            heappush(heap, (place.address, place))
            self.in_use -= place.size
            live[nbytes] -= 1
            if not live[nbytes]:
                del live[nbytes]

    def trim(self) -> None:
        """Give the blocks back in which nothing is in use."""
        self.collect()
        self._join()
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
            "live_allocations": sum(self._live.values()),
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
        self.collect()
        found = {nbytes: many for nbytes, many in self._live.items() if many}
        return ", ".join(f"{found[n]} × {n:,} bytes" for n in sorted(found)[: -most - 1 : -1])

    def _left(self) -> int:
        p = self._physical
        return heap_left(p.handle, p.memory_types[self._type], self.reserved, budget=p.budget)

    def _find(self, size: int) -> Range | None:
        """Cut a range out of what no buffer held, or else joins what buffers held before."""
        found = self._cut(size)
        if found is None and self._freed:
            self._join()
            found = self._cut(size)
        return found

    def _cut(self, size: int) -> Range | None:
        for block in self._blocks:
            found = block.take(size)
            if found is not None:
                return found
        return None

    def _join(self) -> None:
        """Give freed ranges back to their blocks, where they join their neighbours."""
        for places in self._freed.values():
            for _, place in places:
                place.block.free.give(place.start, place.size)
        self._freed.clear()

    def _grow(self, size: int, nbytes: int) -> Range:
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

    def _carve(self, block_bytes: int, size: int) -> Range:
        if len(self._blocks) >= self._physical.max_allocations - 64:  # some are left to the driver
            raise self._out_of_memory(size)
        block = Block(self._device, block_bytes, self._type, mapped=self.mapped)
        self._blocks.append(block)
        self.reserved += block_bytes
        found = block.take(size)
        assert found is not None
        return found

    def _out_of_memory(self, nbytes: int) -> OutOfMemoryError:
        p = self._physical
        return OutOfMemoryError(
            f"vulkan: out of memory on {p.name}: {nbytes:,} bytes wanted; {self.in_use:,} in use, "
            f"{self.reserved:,} reserved in {len(self._blocks)} blocks (limits: "
            f"{p.memory_types[self._type].heap_bytes:,} bytes in all, {p.max_allocation:,} in one "
            f"allocation, {p.max_allocations:,} allocations); largest holders: "
            f"{self.holders() or 'none'}; free tensors or use smaller batches"
        )

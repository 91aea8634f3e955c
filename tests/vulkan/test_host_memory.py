"""The allocator: ranges never overlap, everything freed is one range again, limits hold."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import needs_vulkan  # noqa: F401
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vkml_backend_vulkan import block, memory
from vkml_backend_vulkan.free_ranges import FreeRanges, padded
from vkml_core.errors import DeviceError, OutOfMemoryError

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice
    from vkml_backend_vulkan.instance import Physical


@given(st.lists(st.tuples(st.integers(1, 40), st.integers(0, 200)), max_size=80))
def test_ranges_never_overlap_and_return_to_the_start(moves: list[tuple[int, int]]) -> None:
    """Each move takes so many units, and gives back one of those taken before."""
    ranges = FreeRanges(256)
    taken: dict[int, int] = {}
    for size, choice in moves:
        start = ranges.take(size)
        if start is None:
            assert all(free < size for _, free in ranges)
        else:
            taken[start] = size
        if choice % 3 == 0 and taken:
            at = sorted(taken)[choice % len(taken)]
            ranges.give(at, taken.pop(at))
        spans = sorted([*taken.items(), *ranges])
        assert sum(n for _, n in spans) == 256
        assert all(a + n == b for (a, n), (b, _) in itertools.pairwise(spans))
        free = list(ranges)
        assert all(a + n < b for (a, n), (b, _) in itertools.pairwise(free)), "not joined"
    for at, size in taken.items():
        ranges.give(at, size)
    assert ranges.empty and list(ranges) == [(0, 256)]


def test_the_smallest_range_that_fits_is_taken() -> None:
    ranges = FreeRanges(100)
    assert [ranges.take(n) for n in (30, 10, 20, 10, 30)] == [0, 30, 40, 60, 70]
    ranges.give(0, 30)
    ranges.give(40, 20)
    assert ranges.take(15) == 40


_WINDOW, _CACHED = block.LOCAL | block.MAPPED, block.MAPPED | block.CACHED
_COHERENT_AMD = 0x40


@pytest.mark.parametrize(
    ("types", "flags", "want"),
    [
        ([(0, 9), (block.LOCAL, 8), (_WINDOW, 9)], block.LOCAL, 1),
        ([(block.LOCAL, 8), (block.LOCAL, 8)], block.LOCAL, 0),
        ([(_WINDOW, 9), (block.MAPPED, 8), (_CACHED, 8)], block.MAPPED, 2),
        ([(_WINDOW, 9), (block.MAPPED, 8)], block.MAPPED, 1),
        ([(block.LOCAL | _COHERENT_AMD, 9), (_WINDOW, 1)], block.LOCAL, 1),
        ([(_WINDOW | block.CACHED, 9)], _WINDOW, 0),
        ([(block.MAPPED, 9)], block.LOCAL, None),
    ],
)
def test_memory_types(
    physical: Physical, types: list[tuple[int, int]], flags: int, want: int | None
) -> None:
    from vkml_backend_vulkan.heaps import MemoryType

    fake = replace(physical, memory_types=tuple(MemoryType(*t) for t in types))
    if want is None:
        with pytest.raises(DeviceError, match="has no memory type"):
            block.best_memory_type(fake, flags, 0xFFFFFFFF)
        return
    assert block.best_memory_type(fake, flags, 0xFFFFFFFF) == want


def test_memory_types_that_take_no_buffers_are_left_out(physical: Physical) -> None:
    from vkml_backend_vulkan.heaps import MemoryType

    fake = replace(physical, memory_types=(MemoryType(block.LOCAL, 8),) * 3)
    assert block.best_memory_type(fake, block.LOCAL, 0b100) == 2


@pytest.fixture
def host(physical: Physical, tmp_path: Path) -> Iterator[VulkanDevice]:
    from host_kernels import KERNELS

    from vkml_backend_vulkan.device import VulkanDevice

    opened = VulkanDevice(replace(physical, max_allocations=64 + 4), KERNELS, tmp_path)
    yield opened
    opened.close()


def test_buffers_are_aligned_and_apart(host: VulkanDevice) -> None:
    buffers = [host.memory.allocate(n) for n in (0, 1, 63, 64, 65, 100_000) for _ in range(50)]
    spans = sorted((b.address, padded(b.nbytes)) for b in buffers)
    assert all(start % 64 == 0 for start, _ in spans)
    assert all(a + n <= b for (a, n), (b, _) in itertools.pairwise(spans))
    assert len({b.block for b in buffers}) == 1


def test_freed_memory_is_used_again_and_given_back_on_demand(host: VulkanDevice) -> None:
    first = host.memory.allocate(40 << 20)
    address = first.address
    del first
    again = host.memory.allocate(40 << 20)
    assert again.address == address
    stats = host.memory.stats()
    assert stats["blocks"] == 1 and stats["total_allocations"] == 2
    del again
    host.memory.trim()
    stats = host.memory.stats()
    assert (stats["reserved_bytes"], stats["in_use_bytes"], stats["blocks"]) == (0, 0, 0)
    assert stats["peak_bytes"] == 40 << 20


def test_the_number_of_allocations_is_limited(host: VulkanDevice) -> None:
    kept = [host.memory.allocate(memory.BLOCK_BYTES) for _ in range(4)]
    with pytest.raises(OutOfMemoryError, match=r"68 allocations.*holders: 4 × 67,108,864 bytes"):
        host.memory.allocate(64)
    del kept[0]
    assert host.memory.allocate(memory.BLOCK_BYTES).nbytes == memory.BLOCK_BYTES


def test_the_retry_gives_cached_blocks_to_a_larger_buffer(host: VulkanDevice) -> None:
    cached = [host.memory.allocate(memory.BLOCK_BYTES) for _ in range(4)]
    cached.clear()
    larger = host.memory.allocate(memory.BLOCK_BYTES * 2)  # fits no block, and no fifth may be made
    assert larger.nbytes == memory.BLOCK_BYTES * 2
    assert host.memory.stats()["blocks"] == 1


def test_buffers_in_cycles_come_back(host: VulkanDevice) -> None:
    before = host.memory.stats()["in_use_bytes"]
    for _ in range(100):
        cycle: list[object] = [host.memory.allocate(1000)]
        cycle.append(cycle)
    del cycle
    gc.collect()
    assert host.memory.stats()["in_use_bytes"] == before

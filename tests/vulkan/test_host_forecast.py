"""What a run takes is told before it is taken; what cannot fit is refused by name, unharmed."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import needs_vulkan  # noqa: F401
import numpy as np
import pytest
from host_faults import faults
from host_kernels import KERNELS
from host_leaks import no_objects_left
from host_support import NAME, buffer, floats, leaf, run, value

from vkml_backend_vulkan import heaps, vk
from vkml_backend_vulkan.free_ranges import padded
from vkml_core.dtypes import float32
from vkml_core.errors import OutOfMemoryError
from vkml_core.graph import Node, build, const, full, pending_inputs, reachable
from vkml_core.schedule import schedule

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice
    from vkml_backend_vulkan.instance import Physical
    from vkml_backend_vulkan.warming import Ready

Open = Callable[..., "VulkanDevice"]
MIB = 1 << 20
LARGE = 4_000_000
"""Elements that the kernels of these tests still reach."""


@pytest.fixture
def opened(physical: Physical, tmp_path: Path) -> Iterator[Open]:
    """Opens devices with limits that are made up; `heap` is the bytes of every heap."""
    from vkml_backend_vulkan.device import VulkanDevice

    made: list[VulkanDevice] = []

    def open_(heap: int | None = None, **limits: Any) -> VulkanDevice:
        types = physical.memory_types
        if heap is not None:
            types = tuple(replace(t, heap_bytes=heap) for t in types)
            limits.setdefault("budget", False)
        made.append(
            VulkanDevice(replace(physical, memory_types=types, **limits), KERNELS, tmp_path)
        )
        return made[-1]

    with no_objects_left():
        yield open_
        for device in made:
            device.close()


def _compiled(device: VulkanDevice, roots: list[Node], *donate: Node) -> Ready:
    order = reachable(roots, pending_inputs)
    caps = device.capabilities()
    return device.compile(schedule(order, roots, donate=donate, capabilities=caps).plan)


def test_the_forecast_is_what_a_run_takes(opened: Open) -> None:
    host = opened()
    x = leaf(host, floats(100_000))
    roots = [build.abs(build.add(x, x)), build.add(x, x)]
    told = _compiled(host, roots).forecast()
    assert (told.backups, told.records) == (0, 0)
    before = host.stats()["in_use_bytes"]
    results = run(host, roots)
    host.synchronize()
    assert host.stats()["in_use_bytes"] - before == told.total == told.outputs + told.workspace
    assert told.outputs == 2 * 400_000 and len(results) == 2
    assert 0 < sum(b.nbytes for b in host._workspace) <= told.workspace


def test_backups_and_records_of_a_plan_that_can_fail_are_told(opened: Open) -> None:
    host = opened()
    w, index = leaf(host, floats(1000)), leaf(host, np.array([1, 2], np.int32))
    roots = [build.assign(w, build.add(w, w)), build.gather(w, index, axis=0)]
    told = _compiled(host, roots, w).forecast()
    assert told.backups == padded(4000) and told.records == 64
    assert _compiled(host, roots[:1], w).forecast().backups == 0


def _held(host: VulkanDevice) -> dict[str, float]:
    """Counts that a refused run leaves alone."""
    stats = host.stats()
    return {k: stats[k] for k in ("total_allocations", "live_allocations", "submissions")}


def _sums(x: Node, count: int) -> list[Node]:
    return [build.add(x, const(x, float(i))) for i in range(count)]


def test_a_run_that_does_not_fit_is_refused_before_anything_changes(opened: Open) -> None:
    host = opened(heap=100 * MIB)
    x = floats(LARGE)
    w = leaf(host, x)
    raised = build.assign(w, build.add(w, const(w, 1.0)))
    host.synchronize()
    before = _held(host)
    with pytest.raises(OutOfMemoryError) as caught:
        run(host, [raised, *_sums(w, 8)], donate=[w])
    assert _held(host) == before
    said = str(caught.value)
    assert "nothing was changed" in said and f"{8 * 4 * LARGE:,} of results" in said
    assert f"of {100 * MIB:,} bytes left" in said and host.name in said
    assert f"(output float32({LARGE},), {4 * LARGE:,} bytes)" in said
    assert f"largest holders: 1 × {4 * LARGE:,} bytes" in said
    assert host.download(buffer(w), x.shape, float32).tobytes() == x.tobytes()


def test_what_fits_once_tensors_are_freed_runs_then(opened: Open) -> None:
    host = opened(heap=130 * MIB)
    x = floats(LARGE)
    a = leaf(host, x)
    held = [run(host, [build.abs(a)]) for _ in range(3)]
    with pytest.raises(OutOfMemoryError):
        run(host, _sums(a, 5))
    held.clear()
    found = run(host, _sums(a, 5))[2]
    assert host.download(found, x.shape, float32).tobytes() == (x + np.float32(2)).tobytes()


def test_cached_memory_and_workspace_are_given_up_first(opened: Open) -> None:
    host = opened(heap=140 * MIB)
    x = floats(LARGE)
    node = leaf(host, x)
    assert value(host, build.abs(build.abs(build.abs(node)))).tobytes() == (8 * x).tobytes()
    assert sum(b.nbytes for b in host._workspace) > 20 * MIB
    del node
    gc.collect()
    filled = [full((), float(i), float32, NAME) for i in range(8)]
    roots = [build.contiguous(build.expand(n, shape=(LARGE,))) for n in filled]
    found = run(host, roots)[7]
    assert sum(b.nbytes for b in host._workspace) < MIB
    want = np.full(LARGE, 7, np.float32).tobytes()
    assert host.download(found, (LARGE,), float32).tobytes() == want


def test_the_drivers_budget_counts(physical: Physical, opened: Open) -> None:
    kind = physical.memory_types[0]

    def query(handle: Any, chain: Any) -> None:
        told = vk.ffi.cast("VkPhysicalDeviceMemoryBudgetPropertiesEXT *", chain.pNext)
        told.heapBudget[kind.heap], told.heapUsage[kind.heap] = budget

    with faults() as driver:
        driver.replace("vkGetPhysicalDeviceMemoryProperties2", query)
        budget = 100 * MIB, 30 * MIB
        assert heaps.heap_left(physical.handle, kind, 0, budget=True) == 70 * MIB
        budget = 100 * MIB, 101 * MIB
        assert heaps.heap_left(physical.handle, kind, 0, budget=True) == 0
        host = opened(budget=True)
        x = leaf(host, floats(LARGE))
        with pytest.raises(OutOfMemoryError, match=r"has 0 of [\d,]+ bytes left"):
            run(host, _sums(x, 4))
        budget = 1000 * MIB, 0
        assert len(run(host, _sums(x, 4))) == 4


def test_a_budget_is_within_its_heap(physical: Physical) -> None:
    if not physical.budget:
        pytest.skip("the driver tells no budget")
    for kind in physical.memory_types:
        left = heaps.heap_left(physical.handle, kind, 0, budget=True)
        assert 0 <= left <= kind.heap_bytes


def test_results_larger_than_an_allocation_are_refused_when_compiled(opened: Open) -> None:
    host = opened(max_allocation=4 * MIB)
    x = leaf(host, floats(MIB))
    assert len(run(host, [build.add(x, x)])) == 1
    wide = build.contiguous(build.expand(full((), 2.0, float32, NAME), shape=(2 * MIB,)))
    before = _held(host)
    with pytest.raises(OutOfMemoryError) as caught:
        run(host, [wide])
    assert f"output float32({2 * MIB},), {8 * MIB:,} bytes) is one allocation" in str(caught.value)
    assert f"{4 * MIB:,} bytes are the limit of one" in str(caught.value)
    hidden = build.abs(build.abs(wide))
    with pytest.raises(OutOfMemoryError, match=f"temp float32.{2 * MIB},., {8 * MIB:,} bytes. is"):
        run(host, [build.contiguous(build.slice(hidden, start=(0,), length=(9,), step=(1,)))])
    assert _held(host) == before


def test_temporary_values_larger_together_than_an_allocation_lie_in_pages(opened: Open) -> None:
    host = opened(max_allocation=4 * MIB)
    x = floats(MIB)
    a, b = leaf(host, x), leaf(host, x[::-1].copy())
    doubled = [build.add(a, b), build.add(a, a), build.add(b, b)]
    total = build.add(build.add(doubled[0], doubled[1]), doubled[2])
    got = value(host, total)
    assert len(host._workspace) > 1 and all(b.nbytes <= 4 * MIB for b in host._workspace)
    y = x[::-1]
    assert got.tobytes() == (((x + y) + (x + x)) + (y + y)).tobytes()


def test_an_upload_larger_than_an_allocation_is_refused(opened: Open) -> None:
    host = opened(max_allocation=4 * MIB)
    with pytest.raises(OutOfMemoryError, match=f"{4 * MIB:,} in one allocation"):
        host.upload(floats(MIB + 1))
    assert host.upload(floats(MIB)).nbytes == 4 * MIB

"""Recorded once, submitted often: what recurs is not recorded again, and nothing in it is stale."""

from __future__ import annotations

import gc
import threading
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import needs_vulkan  # noqa: F401
import numpy as np
import pytest
from host_faults import Faults
from host_kernels import KERNELS
from host_support import buffer, floats, leaf, planned

from vkml_backend_vulkan import estimate, recorded, replays, vk
from vkml_core.dtypes import float32
from vkml_core.graph import Node, build, const

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice
    from vkml_backend_vulkan.instance import Physical
    from vkml_backend_vulkan.warming import Ready

RECORDING = ("vkBeginCommandBuffer", "vkCmdDispatch", "vkAllocateCommandBuffers")


def _recorded(driver: Faults) -> int:
    return sum(driver.calls[name] for name in RECORDING)


def _adding(host: VulkanDevice, w: Node) -> tuple[Ready, list[Any]]:
    """A plan that adds a number to a state in place."""
    made, inputs, _ = planned(host, [build.assign(w, build.add(w, const(w, 0.0)))], donate=[w])
    return made, inputs


def _value(host: VulkanDevice, w: Node) -> Any:
    return host.download(buffer(w), w.shape, float32)


def test_what_recurs_is_not_recorded_again_and_has_its_own_numbers(
    host: VulkanDevice, driver: Faults
) -> None:
    x = floats(100)
    w = leaf(host, x)
    made, inputs = _adding(host, w)
    for i in range(20):
        made.run(inputs, [0.25 * i])
        x = x + np.float32(0.25 * i)
    host.synchronize()
    before = _recorded(driver)
    for i in range(100):  # more than may be in flight, and never waiting
        made.run(inputs, [float(i % 7)])
        x = x + np.float32(i % 7)
    assert _recorded(driver) <= before + replays.MOST_COPIES * len(RECORDING)
    before = _recorded(driver)
    host.synchronize()
    for i in range(100):
        made.run(inputs, [float(-i)])
        host.synchronize()
        x = x + np.float32(-i)
    assert _recorded(driver) == before
    assert _value(host, w).tobytes() == x.tobytes()


def test_a_command_buffer_is_never_in_flight_twice(host: VulkanDevice, driver: Faults) -> None:
    """The layer tells if one is submitted or recorded while it is pending."""
    x = floats(200_000)
    w = leaf(host, x)
    made, inputs = _adding(host, w)
    driver.replace("vkGetFenceStatus", lambda *_: driver.VK_NOT_READY)
    for i in range(40):
        made.run(inputs, [float(i)])
        x = x + np.float32(i)
    assert host.stats()["command_buffers"] <= replays.MOST_COPIES
    driver.heal()
    assert _value(host, w).tobytes() == x.tobytes()


def test_results_that_are_kept_get_addresses_of_their_own(
    host: VulkanDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replays, "MOST_RECORDED", 5)
    x = floats(64)
    a = leaf(host, x)
    made, inputs, _ = planned(host, [build.add(a, const(a, 0.0))])
    kept = [made.run(inputs, [float(i)])[0] for i in range(50)]
    for i, found in enumerate(kept):
        assert host.download(found, (64,), float32).tobytes() == (x + np.float32(i)).tobytes()
    stats = host.stats()
    assert stats["recorded_address_sets"] == 5
    assert (
        stats["command_buffers"] <= 5 + 9
    )  # as many more as were in flight, and one in the making


def test_dispatches_bound_what_is_remembered(
    host: VulkanDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replays, "MOST_DISPATCHES", 25)
    a = leaf(host, floats(64))
    node = a
    for _ in range(10):
        node = build.add(node, a)
    made, inputs, _ = planned(host, [node])
    kept = [made.run(inputs, [])[0] for _ in range(6)]
    assert host.stats()["recorded_address_sets"] == 2
    want = floats(64)
    for _ in range(10):
        want = want + floats(64)
    for found in kept:
        assert host.download(found, (64,), float32).tobytes() == want.tobytes()


def test_an_executable_takes_what_it_recorded_with_it(host: VulkanDevice) -> None:
    w = leaf(host, floats(100))
    made, inputs = _adding(host, w)
    made.run(inputs, [1.0])  # the workspace is there from now on
    del made
    host.synchronize()
    before = host.stats()
    made, inputs = _adding(host, w)
    for i in range(5):
        made.run(inputs, [float(i)])
        host.synchronize()
    assert host.stats()["recorded_address_sets"] > before["recorded_address_sets"]
    del made
    gc.collect()
    after = host.stats()
    assert after["recorded_address_sets"] == before["recorded_address_sets"]
    assert after["live_allocations"] == before["live_allocations"]


def test_blocks_that_are_given_back_take_their_commands_along(
    host: VulkanDevice, driver: Faults
) -> None:
    """Copies of numbers name VkBuffers: the layer tells if one is submitted that is destroyed."""
    x = floats(100)
    w = leaf(host, x)
    made, inputs = _adding(host, w)
    made.run(inputs, [1.0])
    host._relieve()
    host.memory.trim()
    assert host.stats()["command_buffers"] == 0
    before = driver.calls["vkCmdDispatch"]
    made.run(inputs, [2.0])
    assert driver.calls["vkCmdDispatch"] == before + 1
    want = x + np.float32(1) + np.float32(2)
    assert _value(host, w).tobytes() == want.tobytes()


def test_a_workspace_that_grows_moves_what_was_recorded(host: VulkanDevice) -> None:
    x = floats(1000)
    a, large = leaf(host, x), leaf(host, floats(100_000))
    small, inputs, _ = planned(host, [build.abs(build.abs(a))])
    grown, others, _ = planned(host, [build.abs(build.abs(large))])
    for _ in range(3):
        (found,) = small.run(inputs, [])
        assert host.download(found, (1000,), float32).tobytes() == (4 * x).tobytes()
        (wide,) = grown.run(others, [])
        want = (4 * floats(100_000)).tobytes()
        assert host.download(wide, (100_000,), float32).tobytes() == want


def test_plans_of_several_parts_are_replayed(
    host: VulkanDevice, driver: Faults, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(estimate, "MOST_DISPATCHES", 2)
    x = floats(50)
    w = leaf(host, x)
    node = w
    for _ in range(9):
        node = build.add(node, const(w, 0.0))
    made, inputs, numbers = planned(host, [build.assign(w, node)], donate=[w])
    counts = []
    for i in range(12):
        before = driver.calls["vkBeginCommandBuffer"]
        made.run(inputs, [float(i)] * len(numbers))
        host.synchronize()
        counts.append(driver.calls["vkBeginCommandBuffer"] - before)
        for _ in range(9):
            x = x + np.float32(i)
    assert counts[0] >= 5 and counts[6:] == [0] * 6
    assert _value(host, w).tobytes() == x.tobytes()


def test_threads_share_an_executable(host: VulkanDevice) -> None:
    x = floats(2000)
    a = leaf(host, x)
    made, inputs, _ = planned(host, [build.add(a, const(a, 0.0))])
    wrong: list[int] = []

    def work(thread: int) -> None:
        for i in range(thread, thread + 25):
            (found,) = made.run(inputs, [float(i)])
            got = host.download(found, (2000,), float32)
            if got.tobytes() != (x + np.float32(i)).tobytes():
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(100 * k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("seed", range(6))
def test_memory_that_others_use_meanwhile(host: VulkanDevice, seed: int) -> None:
    """Tensors come and go at random between runs of a few plans, so that addresses are mixed."""
    rng = np.random.default_rng(seed)
    sizes = (16, 64, 64, 300)
    live: list[tuple[Node, Any]] = []
    made: dict[tuple[str, int], Ready] = {}

    def fresh() -> None:
        x = rng.standard_normal(rng.choice(sizes)).astype(np.float32)
        live.append((leaf(host, x), x))

    def step(kind: str) -> None:
        node, x = live[rng.integers(len(live))]
        number = float(rng.integers(9))
        w = const(node, 0.0)
        root = {
            "add": build.add(node, w),
            "twice": build.abs(build.add(node, w)),
            "state": build.assign(node, build.add(build.abs(node), w)),
        }[kind]
        key = kind, x.size
        donate = [node] if kind == "state" else []
        if key not in made:
            made[key], _, _ = planned(host, [root], donate=donate)
        (found,) = made[key].run([buffer(node)], [number])
        if kind == "state":
            x[:] = (x + x) + np.float32(number)
        elif rng.integers(3):
            y = x + np.float32(number)
            y = y + y if kind == "twice" else y
            live.append((_leaf_of(host, found, y), y))

    with np.errstate(over="ignore"):
        for _ in range(120):
            if len(live) < 3:
                fresh()
            step(str(rng.choice(["add", "twice", "state"])))
            if rng.integers(3) == 0:
                del live[rng.integers(len(live))]
            if rng.integers(10) == 0:
                host.synchronize()
    for node, x in live:
        assert _value(host, node).tobytes() == x.tobytes()


def _leaf_of(host: VulkanDevice, held: Any, x: Any) -> Node:
    from vkml_core.graph import Storage, data

    return data(Storage(held, host), x.shape, float32, "vulkan")


def test_two_thousand_runs_leave_nothing_behind(host: VulkanDevice) -> None:
    x = floats(100)
    w, index = leaf(host, x), leaf(host, np.array([3, 5], np.int32))
    raised = build.add(w, const(w, 0.0))
    made, inputs, _ = planned(
        host, [build.assign(w, raised), build.gather(w, index, axis=0)], donate=[w]
    )
    plain, others = _adding(host, w)

    def step(i: int) -> None:
        made.run(inputs, [0.5])
        plain.run(others, [float(i % 3)])

    def counts() -> tuple[Any, ...]:
        host.synchronize()
        gc.collect()
        stats = host.stats()
        held = ("in_use_bytes", "reserved_bytes", "live_allocations", "command_buffers")
        sets = stats["recorded_address_sets"]
        return tuple(stats[k] for k in held), sets, dict(+vk.live), len(gc.get_objects())

    for i in range(100):
        step(i)
    before = counts()
    for i in range(2000):
        step(i)
    after = counts()
    assert after[:3] == before[:3]
    assert after[3] - before[3] < 100


def test_what_is_profiled_is_recorded_apart(host: VulkanDevice) -> None:
    x = floats(100)
    w = leaf(host, x)
    made, inputs = _adding(host, w)
    for on in (False, True, False):
        host.set_profiling(on)
        assert host.stats()["recorded_address_sets"] == 0
        for i in range(30):
            made.run(inputs, [float(i)])
            x = x + np.float32(i)
    assert host.stats()["command_buffers"] <= 9
    assert _value(host, w).tobytes() == x.tobytes()


def test_small_results_need_no_submission_of_their_own(
    physical: Physical, driver: Faults, tmp_path: Path
) -> None:
    from vkml_backend_vulkan.device import VulkanDevice

    gpu = VulkanDevice(physical, KERNELS, tmp_path, mapped=False)
    small, large = floats(3), floats(1000)
    a, b = leaf(gpu, small), leaf(gpu, large)
    roots = [build.add(a, const(a, 0.0)), build.add(b, const(b, 0.0))]
    made, inputs, numbers = planned(gpu, roots)
    kept = []
    for i in range(30):
        results = made.run(inputs, [float(i)] * len(numbers))
        before = gpu.queue.submitted
        got = gpu.download(results[0], (3,), float32)
        assert gpu.queue.submitted == before
        assert got.tobytes() == (small + np.float32(i)).tobytes()
        assert gpu.download(results[1], (1000,), float32)[5] == large[5] + np.float32(i)
        assert gpu.queue.submitted == before + 1
        if i % 4 == 0:  # addresses recur in between, and what was mirrored is overwritten
            kept.append((results[0], i))
    for held, i in kept:
        assert gpu.download(held, (3,), float32).tobytes() == (small + np.float32(i)).tobytes()
    gpu.close()


def test_a_mirror_is_not_believed_once_the_value_has_changed(
    physical: Physical, driver: Faults, tmp_path: Path
) -> None:
    from vkml_backend_vulkan.device import VulkanDevice

    gpu = VulkanDevice(physical, KERNELS, tmp_path, mapped=False)
    x = floats(3)
    a = leaf(gpu, x)
    made, inputs, _ = planned(gpu, [build.add(a, const(a, 0.0))])
    for i in range(10):
        (found,) = made.run(inputs, [1.0])
        w = _leaf_of(gpu, found, x)
        raised, states = _adding(gpu, w)
        if i % 2:
            assert _value(gpu, w).tobytes() == (x + np.float32(1)).tobytes()
        raised.run(states, [float(i)])
        want = (x + np.float32(1)) + np.float32(i)
        assert _value(gpu, w).tobytes() == want.tobytes()
        assert made.run(inputs, [5.0])[0] is not found
        assert _value(gpu, w).tobytes() == want.tobytes()
    gpu.close()


def test_what_the_driver_is_given_is_alive(
    device: VulkanDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Freed memory often holds what it held, so a driver seldom shows that it was freed."""
    pool = recorded.CommandPool(device._handle, device.physical.queue_family)
    ready = pool.take()
    arrays = weakref.WeakSet([vk._kept[ready.info]["pCommandBuffers"]])
    vk.call("vkEndCommandBuffer", ready.commands)
    pool.dropped.append(ready)
    del ready
    given = []
    free = vk.lib.vkFreeCommandBuffers
    lib = SimpleNamespace(
        vkFreeCommandBuffers=lambda *a: (gc.collect(), given.append(len(arrays)), free(*a))
    )
    monkeypatch.setattr(recorded, "vk", SimpleNamespace(lib=lib))
    pool.free()
    monkeypatch.undo()
    assert given == [1] and pool.made == 0
    pool.destroy()

"""Runs that can fail: told at once, early where it pays, and a failure changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import needs_vulkan  # noqa: F401
import numpy as np
import pytest
from host_faults import LOST, Faults
from host_kernels import KERNELS
from host_support import buffer, floats, leaf, planned

from vkml_backend_vulkan import memory
from vkml_backend_vulkan.shadow import shadowed
from vkml_core.dtypes import float32
from vkml_core.errors import DeviceLost, IndexError_
from vkml_core.graph import Node, build, const, pending_inputs, reachable
from vkml_core.plan import SlotKind
from vkml_core.schedule import schedule
from vkml_core.verify import verify

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice
    from vkml_backend_vulkan.instance import Physical
    from vkml_core.backend import DeviceKind

N = 100
AFTER = 8
"""Steps after the one that can fail."""


@pytest.fixture
def gpu(physical: Physical, driver: Faults, tmp_path: Path) -> Iterator[VulkanDevice]:
    """A device that spins, for as long as it takes."""
    from vkml_backend_vulkan.device import VulkanDevice

    opened = VulkanDevice(replace(physical, kind="discrete-gpu"), KERNELS, tmp_path)
    opened.queue.spin = 20.0  # type: ignore[misc]
    yield opened
    opened.close()


class Loop:
    """A step like training: it picks by an index, adds what it picked, writes two states."""

    def __init__(self, host: VulkanDevice, after: int = AFTER) -> None:
        self.host = host
        self.x, self.y = floats(N), floats(N, seed=1)
        self.w, self.v = leaf(host, self.x), leaf(host, self.y)
        index = leaf(host, np.arange(N, dtype=np.int32))
        self.after = after
        self.made, self.inputs, self.numbers = planned(
            host, self._roots(index), donate=[self.w, self.v]
        )
        self.at = self.inputs.index(buffer(index))

    def _roots(self, index: Node) -> list[Node]:
        picked = build.gather(self.w, index, axis=0)
        node = picked
        for _ in range(self.after):
            node = build.add(node, const(node, 0.5))
        return [build.assign(self.w, build.add(self.w, node)), build.assign(self.v, picked), node]

    def step(self, index: Any) -> Any:
        """Run; the index is of int32[N]."""
        self.inputs[self.at] = self.host.upload(index)
        results = self.made.run(self.inputs, self.numbers)
        picked = self.x[index]
        node = picked.copy()
        for _ in range(self.after):
            node = node + np.float32(0.5)
        self.x, self.y = self.x + node, picked
        return results[2], node

    def check(self) -> None:
        """Compare the states."""
        for node, want in ((self.w, self.x), (self.v, self.y)):
            got = self.host.download(buffer(node), (N,), float32)
            assert got.tobytes() == want.tobytes()


GOOD = np.arange(N, dtype=np.int32)[::-1].copy()
BAD = np.where(GOOD == 7, N, GOOD).astype(np.int32)


@pytest.mark.parametrize("after", [0, 1, AFTER])
def test_failures_between_steps_change_nothing(host: VulkanDevice, after: int) -> None:
    loop = Loop(host, after)
    for i in range(30):
        if i % 3 == 1:
            with pytest.raises(IndexError_, match=f"gather: index {N} is out of range"):
                loop.step(BAD)
            if i % 2:
                loop.check()
        got, want = loop.step(GOOD)
        if i % 4 == 0:
            assert host.download(got, (N,), float32).tobytes() == want.tobytes()
    loop.check()


def test_states_are_not_copied(host: VulkanDevice, driver: Faults) -> None:
    loop = Loop(host)
    host.synchronize()
    before = driver.calls["vkCmdCopyBuffer"]
    for _ in range(20):
        loop.made.run(loop.inputs, loop.numbers)
    copies = driver.calls["vkCmdCopyBuffer"] - before
    assert copies <= 8  # of the numbers, once for each set of addresses
    assert host.stats()["recorded_address_sets"] <= 8


def test_the_host_is_told_before_the_end(gpu: VulkanDevice, driver: Faults) -> None:
    loop = Loop(gpu)
    gpu.synchronize()
    loop.step(GOOD)
    gpu.synchronize()
    driver.replace("vkGetFenceStatus", lambda *_: driver.VK_NOT_READY)
    waits = driver.calls["vkWaitForFences"]
    loop.step(GOOD)
    with pytest.raises(IndexError_):
        loop.step(BAD)
    loop.step(GOOD)
    assert driver.calls["vkWaitForFences"] == waits, "it waited for the end"
    assert driver.calls["vkGetEventStatus"] > 0
    driver.heal()
    loop.check()


def test_it_waits_for_the_end_where_nothing_is_left(gpu: VulkanDevice, driver: Faults) -> None:
    loop = Loop(gpu, after=0)
    for _ in range(3):
        loop.step(GOOD)
    with pytest.raises(IndexError_):
        loop.step(BAD)
    assert driver.calls["vkGetEventStatus"] == 0
    loop.check()


def test_an_event_that_is_late_is_not_waited_for(gpu: VulkanDevice, driver: Faults) -> None:
    gpu.queue.spin = 1e-6  # type: ignore[misc]
    loop = Loop(gpu)
    driver.replace("vkGetEventStatus", lambda *_: driver.VK_EVENT_RESET)
    for _ in range(5):
        loop.step(GOOD)
        with pytest.raises(IndexError_):
            loop.step(BAD)
    loop.check()


@pytest.mark.parametrize("call", ["vkGetEventStatus", "vkQueueSubmit"])
def test_an_interrupted_failure_is_not_the_next_runs(
    gpu: VulkanDevice, driver: Faults, call: str
) -> None:
    loop = Loop(gpu)
    loop.step(GOOD)
    for _ in range(3):
        driver.interrupt(call)
        with pytest.raises(KeyboardInterrupt):
            loop.step(BAD)
        loop.check()
        loop.step(GOOD)
    loop.check()


def test_ctrl_c_while_the_end_is_awaited(host: VulkanDevice, driver: Faults) -> None:
    host.queue.spin = 0.0  # type: ignore[misc]
    loop = Loop(host, after=0)
    loop.step(GOOD)
    driver.replace("vkGetFenceStatus", lambda *_: driver.VK_NOT_READY)
    for index in (BAD, GOOD, BAD):
        driver.interrupt("vkWaitForFences")
        with pytest.raises(KeyboardInterrupt):
            loop.step(index)
        loop.check()
    loop.step(GOOD)
    loop.check()


def test_a_loss_while_the_event_is_awaited(gpu: VulkanDevice, driver: Faults) -> None:
    loop = Loop(gpu)
    loop.step(GOOD)
    for call in ("vkGetEventStatus", "vkGetFenceStatus", "vkWaitForFences"):
        driver.fail(call, LOST)
    with pytest.raises(DeviceLost, match=r"gather to float32\(100,\)|of a plan of"):
        loop.step(GOOD)
    driver.heal()
    with pytest.raises(DeviceLost, match="this device was lost"):
        loop.step(GOOD)


def test_records_grow_with_the_plans(host: VulkanDevice) -> None:
    loop = Loop(host)
    loop.step(GOOD)
    index = leaf(host, np.array([0, N - 1], np.int32))
    wrong = leaf(host, np.array([0, -1], np.int32))
    many = [build.gather(loop.w, index if i != 40 else wrong, axis=0) for i in range(60)]
    made, inputs, _ = planned(host, many)
    for _ in range(3):
        if made._layout.failing:
            with pytest.raises(IndexError_, match="index -1 is"):
                made.run(inputs, [])
        loop.step(GOOD)
        with pytest.raises(IndexError_, match=f"index {N} is"):
            loop.step(BAD)
    loop.check()


def test_spinning_is_bounded_and_then_blocks(gpu: VulkanDevice, driver: Faults) -> None:
    from time import perf_counter

    x = floats(N)
    made, inputs, _ = planned(gpu, [build.abs(leaf(gpu, x))])
    (found,) = made.run(inputs, [])
    gpu.queue.spin = 0.05  # type: ignore[misc]
    driver.replace("vkGetFenceStatus", lambda *_: driver.VK_NOT_READY)
    start = perf_counter()
    assert gpu.download(found, (N,), float32).tobytes() == (2 * x).tobytes()
    assert 0.05 <= perf_counter() - start < 5
    assert driver.calls["vkWaitForFences"] >= 1


def test_a_value_that_is_there_soon_is_not_blocked_for(gpu: VulkanDevice, driver: Faults) -> None:
    x = floats(N)
    made, inputs, _ = planned(gpu, [build.abs(leaf(gpu, x))])
    for _ in range(5):
        (found,) = made.run(inputs, [])
        assert gpu.download(found, (N,), float32).tobytes() == (2 * x).tobytes()
    assert driver.calls["vkWaitForFences"] == 0


def test_software_is_not_spun_for(physical: Physical, tmp_path: Path) -> None:
    from vkml_backend_vulkan.device import SPIN, VulkanDevice

    kinds: dict[DeviceKind, float]
    kinds = {"software": 0.0, "integrated-gpu": SPIN, "discrete-gpu": SPIN}
    for kind, spin in kinds.items():
        opened = VulkanDevice(replace(physical, kind=kind), KERNELS, tmp_path)
        assert opened.queue.spin == spin
        opened.close()


def test_shadowed_plans_are_valid_and_write_no_input(host: VulkanDevice) -> None:
    w, v = leaf(host, floats(N)), leaf(host, floats(N))
    old = build.add(w, v)
    new = build.assign(w, build.abs(old))
    order = reachable([new, root := build.add(new, old), build.assign(v, w)], pending_inputs)
    caps = host.capabilities().model_copy(update={"fusion": False})
    roots = [new, root, order[-1]]
    plan = schedule(order, roots, donate=[w, v], capabilities=caps).plan
    states = [s.index for s in plan.slots if s.kind is SlotKind.STATE]
    assert states
    made, shadows = shadowed(plan)
    assert set(shadows) == set(states) and len(set(shadows.values())) == len(states)
    assert not any(s.kind is SlotKind.STATE for s in made.slots)
    assert {s.write for s in made.steps}.isdisjoint(states)
    verify(replace(made, outputs=(*made.outputs, *shadows.values())))


def test_buffers_exchange_their_memory_all_at_once(host: VulkanDevice) -> None:
    these, those = ([host.memory.allocate(64) for _ in range(5)] for _ in range(2))
    before = [b.address for b in (*these, *those)]
    memory.exchange(these, those)
    assert [b.address for b in (*those, *these)] == before
    in_use = host.memory.in_use
    del these, those
    host.memory.collect()
    assert host.memory.in_use == in_use - 10 * 64

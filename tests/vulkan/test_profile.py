"""Timestamps on the device: what is timed, on which clock, at what cost when off, for how long."""

from __future__ import annotations

import gc
from pathlib import Path

import host_support as host
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vkml
from vkml import attribution, nn, optim
from vkml.attribution.ceilings import ceilings
from vkml_backend_vulkan import vk
from vkml_backend_vulkan.clocks import Correlation, Ticks
from vkml_backend_vulkan.device import VulkanDevice
from vkml_backend_vulkan.instance import Physical
from vkml_backend_vulkan.kernels import shipped
from vkml_core.graph import Node, build
from vkml_core.plugins import open_device


def chain(device: VulkanDevice) -> list[Node]:
    a = host.leaf(device, host.floats(24, 24))
    return [build.sum(build.relu(build.matmul(a, a)), axes=(0,))]


def test_every_dispatch_is_timed_in_order(device: VulkanDevice) -> None:
    roots = chain(device)
    device.set_profiling(True)
    before = device.dispatches
    for _ in range(3):
        host.run(device, roots)
    records = device.profile_records()
    device.set_profiling(False)
    assert len(records) == 3
    assert sum(len(r.dispatches) for r in records) == device.dispatches - before
    for record in records:
        steps = list(record.steps())
        assert [s.step for s in steps] == sorted({d.step for d in record.dispatches})
        assert [op for s in steps for op in s.work.ops] == ["matmul", "relu", "sum"]
        assert all(d.start <= d.end for d in record.dispatches)
        assert record.submitted <= record.finished
    numbers = [r.number for r in records]
    assert numbers == sorted(set(numbers))


def test_the_decision_is_told(device: VulkanDevice) -> None:
    device.set_profiling(True)
    host.run(device, chain(device))
    (record,) = device.profile_records()
    device.set_profiling(False)
    decided = {s.work.ops[0]: s.decision for s in record.steps()}
    found = decided["matmul"]
    assert found is not None and (found.site, found.op) == ("vulkan.matmul", "matmul")


def test_off_costs_no_query_pool(physical: Physical, tmp_path: Path) -> None:
    pools = vk.live["VkQueryPool"]
    own = VulkanDevice(physical, shipped(), tmp_path)
    roots = chain(own)
    host.run(own, roots)
    own.synchronize()
    assert vk.live["VkQueryPool"] == pools and own.profiler is None is own.queue.profiler
    assert own.profile_records() == ()
    own.set_profiling(True)
    host.run(own, roots)
    own.set_profiling(False)
    assert len(own.profile_records()) == 1
    del roots
    own.close()
    assert vk.live["VkQueryPool"] == pools


def test_many_runs_need_few_pools_and_keep_the_newest(physical: Physical, tmp_path: Path) -> None:
    own = VulkanDevice(physical, shipped(), tmp_path)
    own.set_profiling(True)
    own.set_profile_history(5)
    roots = chain(own)
    for _ in range(40):
        host.run(own, roots)
    gc.collect()
    assert [r.number for r in own.profile_records()] == list(
        range(own.queue.submitted - 4, own.queue.submitted + 1)
    )
    settled = vk.live["VkQueryPool"]
    for _ in range(40):
        host.run(own, roots)
    gc.collect()
    assert vk.live["VkQueryPool"] <= settled + 4
    del roots
    own.close()


def test_on_again_forgets(device: VulkanDevice) -> None:
    roots = chain(device)
    device.set_profiling(True)
    host.run(device, roots)
    device.set_profiling(True)
    assert device.profile_records() == ()
    host.run(device, roots)
    assert len(device.profile_records()) == 1
    device.set_profiling(False)
    host.run(device, roots)
    assert len(device.profile_records()) == 1


def test_a_run_that_fails_is_told_too(device: VulkanDevice) -> None:
    values, at = host.leaf(device, host.floats(4)), host.leaf(device, np.array([9], np.int64))
    device.set_profiling(True)
    with pytest.raises(vkml.IndexError_):
        host.run(device, [build.gather(values, at, axis=0)])
    host.run(device, chain(device))
    assert len(device.profile_records()) == 2
    device.set_profiling(False)


def test_an_empty_plan_is_told_without_dispatches(device: VulkanDevice) -> None:
    x = host.leaf(device, np.zeros((0, 3), np.float32))
    device.set_profiling(True)
    host.run(device, [build.neg(x)])
    (record,) = device.profile_records()
    device.set_profiling(False)
    assert record.dispatches == () and list(record.steps()) == []


def test_without_timestamps(device: VulkanDevice, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device._timer, "_ticks", Ticks(1.0, 0))
    assert not device.timestamps_supported
    device.set_profiling(True)
    host.run(device, chain(device))
    (record,) = device.profile_records()
    device.set_profiling(False)
    assert record.dispatches == () and record.submitted <= record.finished


def training(name: str) -> object:
    vkml.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(64, 3)).to(name)
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = vkml.randn(5, 2, 6, 6, seed=1, device=name)
    y = vkml.randint(0, 3, (5,), seed=2, device=name)
    vkml.realize(x, y)

    def step() -> float:
        optimizer.zero_grad()
        loss = vkml.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return float(loss.item())

    return step


def test_a_training_step_adds_up(name: str) -> None:
    step = training(name)
    ceilings(open_device(name))  # or else the report would measure them
    before = vkml.device(name).stats()
    report = attribution.measure(step, rounds=3, warmup=2, device=name)  # type: ignore[arg-type]
    after = vkml.device(name).stats()
    runs = 2 + 3 + 1 + 3
    assert after["submissions"] - before["submissions"] == runs * report.submissions
    assert sum(report.categories.values()) == report.wall
    assert all(ns >= 0 for ns in report.categories.values())
    assert report.busy == sum(row.busy for row in report.kernels) > 0
    assert report.busy - report.account.hidden == report.categories["kernels"]
    done = sum(len(r.dispatches) for rs in report.records.values() for r in rs)
    assert report.dispatches == done > 0
    assert report.ceilings[name].bandwidth > 0 < report.ceilings[name].rate
    assert not report.notes


def test_profiling_changes_no_bits(name: str) -> None:
    losses = []
    for on in (False, True):
        vkml.device(name).set_profiling(on)
        step = training(name)
        losses.append([step() for _ in range(4)])  # type: ignore[operator]
    vkml.device(name).set_profiling(False)
    assert losses[0] == losses[1]


ticks = st.builds(
    Ticks, st.sampled_from([1.0, 0.5, 52.08, 1000.0 / 19.2]), st.sampled_from([36, 48, 64])
)
runs = st.lists(
    st.tuples(st.integers(0, 5_000), st.integers(1, 5_000), st.integers(1, 3_000)), min_size=1
)


@given(ticks, st.integers(0, 2**64 - 1), runs)
def test_ticks_wrap(unit: Ticks, start: int, times: list[tuple[int, int, int]]) -> None:
    whole = 1 << unit.bits
    for delta in (0, 1, 12_345, 2**30):
        ahead = unit.nanoseconds(start % whole, (start + delta) % whole)
        back = unit.nanoseconds((start + delta) % whole, start % whole)
        assert ahead == round(delta * unit.period) == -back


@given(ticks, st.integers(0, 2**64 - 1), runs)
def test_without_a_common_moment_bounds_hold(
    unit: Ticks, zero: int, times: list[tuple[int, int, int]]
) -> None:
    """Submissions at known moments of the device: whatever is made of them is possible."""
    whole, found, now = 1 << unit.bits, Correlation(unit), 0
    for launch, runs_for, wake in times:
        first = now + launch
        last = first + runs_for
        stamps = [(zero + first) % whole, (zero + last) % whole]
        begun, known = (round((t) * unit.period) for t in (now, last + wake))
        (start, end), clock = found.to_host(stamps, begun, known, None)
        assert clock == "bounded"
        assert begun - 2 <= start <= end <= known + 2
        assert abs((end - start) - runs_for * unit.period) <= 1
        now = last + wake


def test_a_common_moment_is_taken_as_it_is() -> None:
    found = Correlation(Ticks(2.0, 36))
    moment = 2**36 - 5, 1_000_000  # the device's clock wraps before the stamps
    stamps = [2**36 - 10, 0, 10]
    assert found.to_host(stamps, 0, 0, moment) == ([999_990, 1_000_010, 1_000_030], "calibrated")


def test_clocks_that_drift_begin_anew() -> None:
    found = Correlation(Ticks(1.0, 64))
    assert found.to_host([100, 200], 1_000, 1_100, None)[0] == [1_000, 1_100]
    # The same device time again, but the host says that 50 more have passed.
    assert found.to_host([100, 200], 1_050, 1_150, None)[0] == [1_050, 1_150]

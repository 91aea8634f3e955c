"""Large plans become several submissions: the bits stay, and so do states after a failure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import needs_vulkan  # noqa: F401
import numpy as np
import pytest
from host_faults import Faults
from host_kernels import KERNELS
from host_leaks import no_objects_left
from host_support import buffer, floats, leaf, run, value

from vkml_backend_vulkan import estimate
from vkml_core.dtypes import float32
from vkml_core.errors import IndexError_
from vkml_core.graph import Node, build, const

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice
    from vkml_backend_vulkan.instance import Physical


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every submission holds two dispatches at most."""
    monkeypatch.setattr(estimate, "MOST_DISPATCHES", 2)


def _chain(x: Node, length: int) -> Node:
    for _ in range(length):
        x = build.add(x, const(x, -0.25))
    return x


def _chained(x: Any, length: int) -> Any:
    for _ in range(length):
        x = x - np.float32(0.25)
    return x


def test_an_ordinary_plan_is_one_submission(host: VulkanDevice) -> None:
    x = leaf(host, floats(1000))
    before = host.queue.submitted
    run(host, [_chain(x, 200)])
    assert host.queue.submitted == before + 1


def test_a_long_plan_is_several_and_has_the_same_bits(host: VulkanDevice, short: None) -> None:
    x = floats(1000)
    before = host.queue.submitted
    (found,) = run(host, [_chain(leaf(host, x), 45)])  # more than may be in flight
    assert host.queue.submitted == before + 23
    assert found.submission == host.queue.submitted
    assert host.download(found, (1000,), float32).tobytes() == _chained(x, 45).tobytes()


def test_plans_are_cut_by_time_on_a_gpu(
    physical: Physical, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from vkml_backend_vulkan.device import VulkanDevice

    x = floats(1000)
    one = 8000 / 1e11 + 8 * 1000 / 1e11  # an add of a number: 4,000 + 4 bytes and 8,000 terms
    monkeypatch.setattr(estimate, "SECONDS", 5.5 * one)
    with no_objects_left():
        gpu = VulkanDevice(replace(physical, kind="discrete-gpu"), KERNELS, tmp_path)
        before = gpu.queue.submitted
        (found,) = run(gpu, [_chain(leaf(gpu, x), 12)])
        assert gpu.queue.submitted == before + 3  # 5, 5 and 2
        assert gpu.download(found, (1000,), float32).tobytes() == _chained(x, 12).tobytes()
        gpu.close()


def _failing(host: VulkanDevice, w: Node, last: int) -> list[Node]:
    """Assign in the first part, and fail in a later one unless `last` is an index."""
    index = leaf(host, np.array([0, last], np.int32))
    return [
        build.assign(w, _chain(w, 3)),
        build.gather(_chain(w, 9), index, axis=0),
    ]


def test_a_plan_that_fails_in_a_later_part_changes_no_state(
    host: VulkanDevice, short: None
) -> None:
    x = floats(3)
    w = leaf(host, x)
    before = host.queue.submitted
    with pytest.raises(IndexError_, match="index 3 is out of range"):
        run(host, _failing(host, w, 3), donate=[w])
    assert host.queue.submitted > before + 4
    assert host.download(buffer(w), (3,), float32).tobytes() == x.tobytes()
    run(host, _failing(host, w, 2), donate=[w])
    assert host.download(buffer(w), (3,), float32).tobytes() == _chained(x, 3).tobytes()


@pytest.mark.parametrize("after", [3, 9, 12, 14])
def test_ctrl_c_halfway_changes_no_state(
    host: VulkanDevice, driver: Faults, short: None, after: int
) -> None:
    """Of ten states, written by the last ten of thirty steps, some are written by then or none."""
    x = [floats(100, seed=i) for i in range(10)]
    states = [leaf(host, each) for each in x]
    roots = [build.assign(w, _chain(w, 3)) for w in states]
    driver.interrupt("vkQueueSubmit", after=after)
    before = host.queue.submitted
    with pytest.raises(KeyboardInterrupt):
        run(host, roots, donate=states)
    assert host.queue.submitted == before + after
    for w, each in zip(states, x, strict=True):
        assert host.download(buffer(w), (100,), float32).tobytes() == each.tobytes()
    run(host, roots, donate=states)
    for w, each in zip(states, x, strict=True):
        assert host.download(buffer(w), (100,), float32).tobytes() == _chained(each, 3).tobytes()


def test_an_error_halfway_changes_no_state(host: VulkanDevice, driver: Faults, short: None) -> None:
    x = floats(10)
    w = leaf(host, x)
    driver.fail("vkQueueSubmit", "VK_ERROR_OUT_OF_DEVICE_MEMORY", after=2)
    with pytest.raises(MemoryError):
        run(host, [build.assign(w, _chain(w, 30))], donate=[w])
    driver.heal()
    assert host.download(buffer(w), (10,), float32).tobytes() == x.tobytes()


def test_a_submission_that_failed_leaves_uploads_to_the_next(
    host: VulkanDevice, driver: Faults
) -> None:
    x = floats(50)
    a = leaf(host, x)
    driver.fail("vkQueueSubmit", "VK_ERROR_OUT_OF_HOST_MEMORY")
    with pytest.raises(MemoryError):
        run(host, [_chain(a, 1)])
    driver.heal()
    assert value(host, _chain(a, 1)).tobytes() == _chained(x, 1).tobytes()


def test_a_download_that_never_began_holds_nothing_up(
    physical: Physical, driver: Faults, tmp_path: Path
) -> None:
    from vkml_backend_vulkan.device import VulkanDevice
    from vkml_backend_vulkan.transfer import RING_BYTES

    host = VulkanDevice(physical, KERNELS, tmp_path, mapped=False)
    x = floats(RING_BYTES // 16)
    held = host.upload(x)
    host.synchronize()
    driver.replace("vkWaitForFences", lambda *_: driver.VK_SUCCESS, after=50)  # rather than hang
    waited = driver.calls["vkWaitForFences"]
    for _ in range(5):  # more than the ring holds
        driver.interrupt("vkResetCommandPool")
        with pytest.raises(KeyboardInterrupt):
            host.download(held, x.shape, float32)
    assert driver.calls["vkWaitForFences"] == waited
    again = host.upload(x)
    assert host.download(again, x.shape, float32).tobytes() == x.tobytes()
    host.close()

"""A lost device: what the error names, and that nothing hangs or leaks."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import needs_vulkan  # noqa: F401
import numpy as np
import pytest
from host_faults import LOST, Faults, faults
from host_kernels import KERNELS
from host_leaks import no_objects_left
from host_support import buffer, floats, leaf, planned, run, value

import vkml
from vkml_core.dtypes import float32
from vkml_core.errors import DeviceLost
from vkml_core.graph import Node, build, const

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice
    from vkml_backend_vulkan.instance import Physical


@pytest.fixture
def driver(physical: Physical) -> Iterator[Faults]:
    with no_objects_left(), faults() as made:
        yield made


@pytest.fixture(params=[None, False], ids=["mapped", "staged"])
def host(
    request: pytest.FixtureRequest, physical: Physical, driver: Faults, tmp_path: Path
) -> Iterator[VulkanDevice]:
    from vkml_backend_vulkan.device import VulkanDevice

    opened = VulkanDevice(physical, KERNELS, tmp_path, mapped=request.param)
    yield opened
    opened.close()


def _sum(x: Node) -> Node:
    return build.add(build.add(x, x), const(x, 1.0))


@pytest.mark.parametrize("call", ["vkQueueSubmit", "vkWaitForFences", "vkGetFenceStatus"])
def test_the_error_names_submission_step_and_advice(
    host: VulkanDevice, driver: Faults, call: str
) -> None:
    x = leaf(host, floats(40))
    driver.fail(call, LOST)
    with pytest.raises(DeviceLost) as caught:
        run(host, [_sum(x)])
        if call == "vkGetFenceStatus":
            host.stats()
        host.synchronize()
    said = str(caught.value)
    assert f"{call}(submission = 1) failed with {LOST}" in said
    assert "in submission 1 (steps 0 to 1 of a plan of 2, the last one step 1, " in said
    assert "add to float32(40,)" in said
    assert "vkml.device('vulkan').reopen()" in said


def test_the_oldest_and_the_latest_of_many_submissions_are_named(
    host: VulkanDevice, driver: Faults
) -> None:
    x = leaf(host, floats(7))
    run(host, [_sum(x)])
    host.synchronize()
    done = host.queue.submitted
    driver.replace("vkGetFenceStatus", lambda *_: driver.VK_NOT_READY)
    run(host, [build.abs(x)])
    run(host, [_sum(x)])
    driver.fail("vkWaitForFences", LOST)
    with pytest.raises(DeviceLost) as caught:
        host.synchronize()
    said = str(caught.value)
    assert f"in submission {done + 1} (step 0 of a plan of 1, the last one step 0, abs" in said
    assert f"the latest being submission {done + 2} (steps 0 to 1 of a plan" in said


def test_a_lost_download(physical: Physical, driver: Faults, tmp_path: Path) -> None:
    from vkml_backend_vulkan.device import VulkanDevice

    host = VulkanDevice(physical, KERNELS, tmp_path, mapped=False)
    x = leaf(host, floats(7))
    host.synchronize()
    driver.fail("vkWaitForFences", LOST)
    with pytest.raises(DeviceLost, match=r"submission 2 \(a download\)"):
        host.download(buffer(x), (7,), float32)
    host.close()


_USES: dict[str, Callable[[VulkanDevice, Node], object]] = {
    "upload": lambda d, x: d.upload(floats(3)),
    "download": lambda d, x: d.download(buffer(x), (5,), float32),
    "compile and run": lambda d, x: run(d, [build.abs(x)]),
    "synchronize": lambda d, x: d.synchronize(),
}


@pytest.mark.parametrize("use", _USES.values(), ids=_USES)
def test_later_uses_fail_at_once_and_do_not_ask_the_driver(
    host: VulkanDevice, driver: Faults, use: Callable[[VulkanDevice, Node], object]
) -> None:
    x = leaf(host, floats(5))
    driver.fail("vkQueueSubmit", LOST)
    with pytest.raises(DeviceLost):
        run(host, [_sum(x)])
    driver.heal()
    before = driver.calls.total()
    for _ in range(2):
        with pytest.raises(DeviceLost, match=r"this device was lost, in submission 1 \(steps 0"):
            use(host, x)
    assert driver.calls.total() == before
    assert host.stats()["submissions"] == 0 and "submission 1" in host.report()["lost"]


def test_an_executable_of_before_fails_at_once(host: VulkanDevice, driver: Faults) -> None:
    x = leaf(host, floats(5))
    made, inputs, numbers = planned(host, [_sum(x)])
    driver.fail("vkQueueSubmit", LOST)
    for said in ("VK_ERROR_DEVICE_LOST", "this device was lost"):
        with pytest.raises(DeviceLost, match=said):
            made.run(inputs, numbers)


def test_memory_that_submissions_kept_comes_back(host: VulkanDevice, driver: Faults) -> None:
    start = host.stats()["live_allocations"]
    driver.replace("vkGetFenceStatus", lambda *_: driver.VK_NOT_READY)
    for _ in range(3):
        value_of = run(host, [_sum(leaf(host, floats(100)))])
    driver.fail("vkWaitForFences", LOST)
    with pytest.raises(DeviceLost):
        host.synchronize()
    del value_of
    host._workspace.clear()
    host.transfer._copies.clear()
    gc.collect()
    assert host.stats()["live_allocations"] == start


def test_a_loss_while_an_error_record_is_awaited(host: VulkanDevice, driver: Faults) -> None:
    x, index = leaf(host, floats(3)), leaf(host, np.array([0, 2], np.int32))
    assert value(host, build.gather(x, index, axis=0)).shape == (2,)
    driver.fail("vkWaitForFences", LOST)
    driver.replace("vkGetFenceStatus", lambda *_: driver.VK_NOT_READY)
    with pytest.raises(DeviceLost, match=r"gather to float32\(2,\)"):
        run(host, [build.gather(x, index, axis=0)])


def test_a_call_that_fails_otherwise_loses_nothing(host: VulkanDevice, driver: Faults) -> None:
    x = leaf(host, floats(5))
    driver.fail("vkQueueSubmit", "VK_ERROR_OUT_OF_HOST_MEMORY")
    with pytest.raises(vkml.OutOfMemoryError):
        run(host, [_sum(x)])
    driver.heal()
    want = floats(5) + floats(5) + np.float32(1)
    assert value(host, _sum(x)).tobytes() == want.tobytes()

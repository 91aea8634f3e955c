"""Nothing grows: memory, objects of the driver and of Python, through long loops and failures."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import needs_vulkan  # noqa: F401
import numpy as np
import pytest
from host_faults import faults
from host_kernels import KERNELS
from host_leaks import no_objects_left, offered

import vkml
from vkml_backend_vulkan import replays, vk
from vkml_backend_vulkan.queue import IN_FLIGHT
from vkml_core import plugins, runtime
from vkml_core.errors import Error

if TYPE_CHECKING:
    from vkml_backend_vulkan.instance import Physical

NOISE = 300
"""Python objects that may come and go; a leak of one a step is far above it."""


@pytest.fixture
def public(physical: Physical, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Tensors that name no device are on the first Vulkan device."""
    with no_objects_left(), offered():
        monkeypatch.setenv("VKML_DEVICE", "vulkan")
        yield


def _counts() -> tuple[dict[str, float], dict[str, int], int]:
    """Count what may not grow, once what is done has been given back.

    What is recorded has a bound of its own, and which addresses recur depends on the timing.
    """
    vkml.device("vulkan").synchronize()
    stats = vkml.device("vulkan").stats()
    assert stats["recorded_address_sets"] <= replays.MOST_RECORDED
    assert stats["command_buffers"] <= replays.MOST_RECORDED + IN_FLIGHT + 1
    plugins.open_device("vulkan").replays.clear()  # type: ignore[attr-defined]
    gc.collect()
    stats = vkml.device("vulkan").stats()
    held = ("reserved_bytes", "in_use_bytes", "live_allocations", "blocks", "pipelines")
    return {name: stats[name] for name in held}, dict(+vk.live), len(gc.get_objects())


def _flat(step: Callable[[int], object], warm: int, steps: int) -> None:
    for i in range(warm):
        step(i)
    held, objects, python = _counts()
    for i in range(warm, steps):
        step(i)
    after = _counts()
    assert after[:2] == (held, objects)
    assert after[2] - python < NOISE


def _training() -> Callable[[int], object]:
    """Give the step of a model of 4-8-2."""
    draw = np.random.default_rng(0).standard_normal
    shapes = (4, 8), (8, 2)
    weights = [vkml.tensor(draw(s).astype(np.float32) * 0.3, requires_grad=True) for s in shapes]
    x, y = (vkml.tensor(draw((4, n)).astype(np.float32)) for n in (4, 2))

    def step(i: int) -> None:
        error = vkml.matmul(vkml.relu(vkml.matmul(x, weights[0])), weights[1]) - y
        gradients: Any = vkml.grad((error * error).mean(), weights)
        with vkml.no_grad():
            vkml.assign(weights, [w - g * 0.1 for w, g in zip(weights, gradients, strict=True)])

    return step


def test_ten_thousand_steps(public: None) -> None:
    _flat(_training(), 500, 10_000)


def test_a_thousand_eager_steps(public: None) -> None:
    with vkml.eager_mode():
        _flat(_training(), 100, 1000)


def test_changing_shapes(public: None) -> None:
    """More shapes than plans are kept: their number bounds everything, pipelines excepted."""
    shapes, total = runtime.CACHE_SIZE + 50, vkml.tensor([0.0])

    def step(i: int) -> None:
        rows = 1 + i % shapes
        x = vkml.tensor(np.ones((rows, 3), np.float32))
        assert (vkml.relu(x * 2.0).sum() + total).numpy().tolist() == [6.0 * rows]

    _flat(step, 2 * shapes, 4 * shapes)
    assert runtime.cache_info()["plans"] == runtime.CACHE_SIZE
    assert vkml.device("vulkan").stats()["pipelines"] < 20


def test_devices_opened_and_closed(physical: Physical, tmp_path: Path) -> None:
    from vkml_backend_vulkan.device import VulkanDevice

    with no_objects_left():
        for i in range(20):
            opened = VulkanDevice(physical, KERNELS, tmp_path, mapped=None if i % 2 else False)
            opened.upload(np.ones(3, np.float32))
            if i % 3:
                opened.close()
        del opened


_OPENING = [
    ("vkCreateDevice", 0),
    ("vkCreateBuffer", 0),
    ("vkCreateBuffer", 2),
    ("vkAllocateMemory", 0),
    ("vkBindBufferMemory", 0),
    ("vkMapMemory", 0),
    ("vkCreateCommandPool", 0),
    ("vkCreateCommandPool", 3),
    ("vkCreateFence", 5),
    ("vkAllocateCommandBuffers", 1),
    ("vkCreatePipelineLayout", 0),
    ("vkCreatePipelineCache", 0),
]


@pytest.mark.parametrize(("call", "after"), _OPENING)
def test_a_device_that_cannot_be_opened_leaves_nothing(
    physical: Physical, tmp_path: Path, call: str, after: int
) -> None:
    from vkml_backend_vulkan.device import VulkanDevice

    with no_objects_left(), faults() as driver:
        driver.fail(call, "VK_ERROR_OUT_OF_HOST_MEMORY", after=after)
        with pytest.raises(Error, match=f"{call}|out of memory on"):
            VulkanDevice(physical, KERNELS, tmp_path, mapped=False)


@pytest.mark.parametrize("call", ["vkAllocateMemory", "vkBindBufferMemory", "vkMapMemory"])
def test_memory_that_cannot_be_had_leaves_nothing(
    physical: Physical, tmp_path: Path, call: str
) -> None:
    from vkml_backend_vulkan.device import VulkanDevice

    with no_objects_left(), faults() as driver:
        opened = VulkanDevice(physical, KERNELS, tmp_path, mapped=False)
        before = +vk.live
        driver.fail(call, "VK_ERROR_OUT_OF_HOST_MEMORY")
        with pytest.raises(MemoryError):
            opened.host.allocate(opened.host.reserved)
        assert +vk.live == before
        driver.heal()
        assert opened.host.allocate(opened.host.reserved + 1).nbytes
        opened.close()


@pytest.mark.parametrize("call", ["vkCreateShaderModule", "vkCreateComputePipelines"])
def test_a_pipeline_that_cannot_be_made_leaves_nothing(
    physical: Physical, tmp_path: Path, call: str
) -> None:
    from vkml_backend_vulkan.device import VulkanDevice

    with no_objects_left(), faults() as driver:
        opened = VulkanDevice(physical, KERNELS, tmp_path)
        driver.fail(call, "VK_ERROR_OUT_OF_HOST_MEMORY")
        with pytest.raises(MemoryError, match=f"{call}.*module = copy"):
            opened.pipelines.get("copy", (64,))
        driver.heal()
        assert opened.pipelines.get("copy", (64,))
        opened.close()


@pytest.mark.parametrize("call", ["vkCreateShaderModule", "vkCreateComputePipelines"])
@pytest.mark.parametrize("after", range(3))
def test_of_pipelines_made_side_by_side_those_that_could_be_are_kept(
    physical: Physical, tmp_path: Path, call: str, after: int
) -> None:
    from vkml_backend_vulkan.device import VulkanDevice

    wanted = [("copy", (local,)) for local in (32, 64, 128)]
    with no_objects_left(), faults() as driver:
        opened = VulkanDevice(physical, KERNELS, tmp_path)
        driver.fail(call, "VK_ERROR_OUT_OF_HOST_MEMORY", after=after)
        with pytest.raises(MemoryError, match=f"{call}.*module = copy"):
            opened.pipelines.prepare(wanted)
        assert len(opened.pipelines) == after
        driver.heal()
        opened.pipelines.prepare([*wanted, *wanted])
        assert all(opened.pipelines.get(*key) for key in wanted)
        assert len(opened.pipelines) == 3
        opened.close()

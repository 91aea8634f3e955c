"""The validation layer watches this run: it is loaded, and it reports what is wrong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import needs_vulkan  # noqa: F401
import pytest

from tests.vulkan.validation import Log, loaded

_RECORD = """
import vulkan as vk
from shader import Mapper
mapper = Mapper()
pool = vk.vkCreateCommandPool(
    mapper.device, vk.VkCommandPoolCreateInfo(queueFamilyIndex=0), None
)
allocation = vk.VkCommandBufferAllocateInfo(commandPool=pool, commandBufferCount=1)
commands = vk.vkAllocateCommandBuffers(mapper.device, allocation)[0]
vk.vkBeginCommandBuffer(commands, vk.VkCommandBufferBeginInfo())
with mapper.buffer(64) as (a, _), mapper.buffer(64) as (b, _):
    region = vk.VkBufferCopy(srcOffset=0, dstOffset=0, size=64)
    for source, target in [(a, b), (b, a)][:{copies}]:  # without a barrier
        vk.vkCmdCopyBuffer(commands, source, target, 1, [region])
    for _ in range({dispatches}):  # without a pipeline
        vk.vkCmdDispatch(commands, 1, 1, 1)
    vk.vkEndCommandBuffer(commands)
    vk.vkDestroyCommandPool(mapper.device, pool, None)
mapper.close()
"""


def _messages(directory: Path, copies: int, dispatches: int) -> str:
    """Record so many copies and dispatches in a child; give what the layer says."""
    log = Log(directory)
    code = _RECORD.format(copies=copies, dispatches=dispatches)
    here = str(Path(__file__).parent)
    environment = {**os.environ, **log.environment(), "PYTHONPATH": here}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return log.new()


def test_the_layer_is_in_this_process(physical: object, validation: Log | None) -> None:
    if validation is None:
        pytest.skip("the layer is not installed")
    if not Path("/proc/self/maps").exists():
        pytest.skip("this system does not tell which libraries are loaded")
    assert loaded()


@pytest.mark.parametrize(
    ("copies", "dispatches", "said"),
    [(1, 0, ""), (0, 1, "VUID-vkCmdDispatch"), (2, 0, "SYNC-HAZARD")],
    ids=["nothing", "core", "synchronization"],
)
def test_what_is_wrong_is_reported(
    physical: object,
    validation: Log | None,
    tmp_path: Path,
    copies: int,
    dispatches: int,
    said: str,
) -> None:
    if validation is None:
        pytest.skip("the layer is not installed")
    found = _messages(tmp_path, copies, dispatches)
    assert said in found and bool(said) == bool(found)

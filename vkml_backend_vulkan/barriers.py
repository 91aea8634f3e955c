"""Barriers over all memory, prepared once and recorded with raw calls."""

from __future__ import annotations

from functools import cache
from typing import Any, Final

from vkml_backend_vulkan import vk

COMPUTE: Final[int] = vk.lib.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT
TRANSFER: Final[int] = vk.lib.VK_PIPELINE_STAGE_TRANSFER_BIT
HOST: Final[int] = vk.lib.VK_PIPELINE_STAGE_HOST_BIT
_READS: Final[dict[int, int]] = {
    COMPUTE: vk.lib.VK_ACCESS_SHADER_READ_BIT,
    TRANSFER: vk.lib.VK_ACCESS_TRANSFER_READ_BIT,
    HOST: vk.lib.VK_ACCESS_HOST_READ_BIT,
}
_WRITES: Final[dict[int, int]] = {
    COMPUTE: vk.lib.VK_ACCESS_SHADER_WRITE_BIT,
    TRANSFER: vk.lib.VK_ACCESS_TRANSFER_WRITE_BIT,
    HOST: 0,
}


@cache
def between(before: int, after: int) -> BarrierCommand:
    """Give the barrier between stages, which is prepared once."""
    return BarrierCommand(before, after)


class BarrierCommand:
    """A barrier over all memory, prepared for recording with raw calls."""

    def __init__(self, before: int, after: int) -> None:
        """Order the stages `before` ahead of the stages `after`, with what they write."""
        stages = (COMPUTE, TRANSFER, HOST)
        memory = vk.struct(
            "VkMemoryBarrier",
            srcAccessMask=sum(_WRITES[s] for s in stages if before & s),
            dstAccessMask=sum(_READS[s] | _WRITES[s] for s in stages if after & s),
        )
        none = vk.NULL
        self._arguments = (before, after, 0, 1, memory, 0, none, 0, none)

    def record(self, commands: Any) -> None:
        """Record it."""
        vk.lib.vkCmdPipelineBarrier(commands, *self._arguments)


BEGIN: Final = BarrierCommand(COMPUTE | TRANSFER, COMPUTE | TRANSFER)
WRITTEN: Final = BarrierCommand(COMPUTE, TRANSFER)
FILLED: Final = BarrierCommand(TRANSFER, COMPUTE | TRANSFER)
END: Final = BarrierCommand(COMPUTE | TRANSFER, HOST)

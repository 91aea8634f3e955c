"""The compute queue: a ring of command buffers, each with the fence of its last submission.

Submissions run in order: each begins by waiting for everything before it and ends by making its
writes visible to the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from vkml_backend_vulkan import vk

IN_FLIGHT: Final = 8
"""Submissions that may be unfinished; the next one waits for the oldest."""
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
_SLICE: Final = 200_000_000
"""Nanoseconds of one wait, so that Ctrl-C is heard."""


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
BETWEEN: Final = BarrierCommand(COMPUTE, COMPUTE)
FILLED: Final = BarrierCommand(TRANSFER, COMPUTE | TRANSFER)
END: Final = BarrierCommand(COMPUTE | TRANSFER, HOST)


@dataclass(slots=True)
class _Recorder:
    """A command buffer in a pool of its own, the submission it last held, and what that uses."""

    pool: Any
    commands: Any
    fence: Any
    """A C array of the one fence."""
    submission: int = 0
    kept: Sequence[object] = field(default=())


class Queue:
    """Records and submits; its caller holds the device's lock."""

    def __init__(self, device: Any, family: int) -> None:
        self._device = device
        out = vk.ffi.new("VkQueue *")
        vk.lib.vkGetDeviceQueue(device, family, 0, out)
        self._queue = out[0]
        self._recorders = [self._create_recorder(family) for _ in range(IN_FLIGHT)]
        self.submitted = 0
        self.finished = 0
        """All submissions up to this number are known to have finished."""
        begin = vk.lib.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT
        self._begin_info = vk.struct("VkCommandBufferBeginInfo", flags=begin)

    @property
    def next(self) -> int:
        """The number of the submission that is being recorded."""
        return self.submitted + 1

    def begin(self) -> Any:
        """Give the next command buffer, begun; waits where too many are in flight."""
        recorder = self._recorder(self.next)
        self.wait(recorder.submission)
        vk.call("vkResetCommandPool", self._device, recorder.pool, 0)
        vk.call("vkBeginCommandBuffer", recorder.commands, self._begin_info)
        BEGIN.record(recorder.commands)
        return recorder.commands

    def submit(self, keep: Sequence[object]) -> int:
        """Submit what was recorded since `begin` and give its number.

        What is in `keep` stays alive until the submission has finished.
        """
        recorder = self._recorder(self.next)
        END.record(recorder.commands)
        vk.call("vkEndCommandBuffer", recorder.commands)
        vk.call("vkResetFences", self._device, 1, recorder.fence)
        info = vk.struct(
            "VkSubmitInfo",
            commandBufferCount=1,
            pCommandBuffers=vk.array("VkCommandBuffer", [recorder.commands]),
        )
        vk.call("vkQueueSubmit", self._queue, 1, info, recorder.fence[0], submission=self.next)
        self.submitted += 1
        recorder.submission, recorder.kept = self.submitted, keep
        return self.submitted

    def wait(self, submission: int) -> None:
        """Wait until a submission and all before it have finished. Raises DeviceLost."""
        if self.finished < submission:
            fence, wait = self._recorder(submission).fence, "vkWaitForFences"
            while vk.call(wait, self._device, 1, fence, 1, _SLICE, submission=submission):
                pass
            self._drop(submission)
        self.poll()

    def poll(self) -> None:
        """Drop what finished submissions kept alive."""
        done = self.finished
        while done < self.submitted and self._is_done(done + 1):
            done += 1
        self._drop(done)

    def finish(self) -> None:
        """Wait for everything submitted."""
        self.wait(self.submitted)

    def destroy(self) -> None:
        """Destroy the fences and the command pools; nothing may be in flight."""
        for recorder in self._recorders:
            recorder.kept = ()
            vk.destroy("vkDestroyCommandPool", self._device, recorder.pool)
            vk.destroy("vkDestroyFence", self._device, recorder.fence[0])

    def _is_done(self, submission: int) -> bool:
        fence = self._recorder(submission).fence[0]
        status = vk.call("vkGetFenceStatus", self._device, fence, submission=submission)
        return bool(status == vk.lib.VK_SUCCESS)

    def _drop(self, done: int) -> None:
        """Note that all submissions up to `done` have finished."""
        for submission in range(self.finished + 1, done + 1):
            self._recorder(submission).kept = ()
        self.finished = done

    def _recorder(self, submission: int) -> _Recorder:
        return self._recorders[submission % IN_FLIGHT]

    def _create_recorder(self, family: int) -> _Recorder:
        transient = vk.lib.VK_COMMAND_POOL_CREATE_TRANSIENT_BIT
        info = vk.struct("VkCommandPoolCreateInfo", flags=transient, queueFamilyIndex=family)
        pool = vk.create("vkCreateCommandPool", self._device, info, vk.NULL)
        primary = vk.struct("VkCommandBufferAllocateInfo", commandPool=pool, commandBufferCount=1)
        out = vk.ffi.new("VkCommandBuffer *")  # it is destroyed with its pool
        vk.call("vkAllocateCommandBuffers", self._device, primary, out)
        fence = vk.create("vkCreateFence", self._device, vk.struct("VkFenceCreateInfo"), vk.NULL)
        return _Recorder(pool, out[0], vk.array("VkFence", [fence]))

"""Command buffers that are recorded once and submitted often, and the pool that they come from."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.memory import Buffer, Mirror
from vkml_backend_vulkan.profile import Timed


@dataclass(frozen=True, slots=True)
class Ready:
    """A recorded command buffer, and the VkSubmitInfo of it alone."""

    commands: Any
    info: Any


class Recorded:
    """A plan's command buffers, one a part, bound to addresses; they come back when it is gone.

    Whoever submits it keeps it until the submission has finished.
    """

    __slots__ = (
        "_pool",
        "dispatches",
        "mirrors",
        "numbers",
        "parts",
        "submission",
        "target",
        "timed",
    )

    def __init__(
        self, pool: CommandPool, numbers: Buffer | None, mirrors: Sequence[Mirror]
    ) -> None:
        """`numbers` is mapped memory, which the commands read."""
        self._pool = pool
        self.numbers = numbers
        self.target = None if numbers is None else vk.ffi.buffer(numbers.host, numbers.nbytes)
        """The numbers as the host writes them; only while no submission reads them."""
        self.mirrors = mirrors
        """What the last part copies small results to."""
        self.parts: list[Ready] = []
        self.timed: list[Timed] = []
        """What times each part, if they were recorded while profiling was on."""
        self.dispatches = 0
        self.submission = 0
        """The last one."""

    def begin(self) -> Any:
        """Begin another command buffer, which is submitted after those before."""
        ready = self._pool.take()
        self.parts.append(ready)
        return ready.commands

    def __del__(self) -> None:
        # May run at any point of any thread, the pool's own code included: only queue it.
        self._pool.dropped.extend(self.parts)


class CommandPool:
    """Command buffers that are used again. Its caller holds the device's lock."""

    def __init__(self, device: Any, family: int) -> None:
        self._device = device
        self.dropped: deque[Ready] = deque()
        """What `Recorded` objects that are gone held."""
        self.made = 0
        flags = vk.lib.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT
        info = vk.struct("VkCommandPoolCreateInfo", flags=flags, queueFamilyIndex=family)
        self._pool = vk.create("vkCreateCommandPool", device, info, vk.NULL)
        self._wanted = vk.struct(
            "VkCommandBufferAllocateInfo", commandPool=self._pool, commandBufferCount=1
        )
        self._begin_info = vk.struct("VkCommandBufferBeginInfo")

    def take(self) -> Ready:
        """Give a command buffer, begun."""
        ready = self.dropped.popleft() if self.dropped else self._allocate()
        vk.call("vkResetCommandBuffer", ready.commands, 0)  # it may not have been ended
        vk.call("vkBeginCommandBuffer", ready.commands, self._begin_info)
        return ready

    def free(self) -> None:
        """Give all that nobody uses back to the driver."""
        while self.dropped:
            ready = self.dropped.popleft()  # its info owns the array that the call reads
            commands = ready.info.pCommandBuffers
            vk.lib.vkFreeCommandBuffers(self._device, self._pool, 1, commands)
            self.made -= 1

    def destroy(self) -> None:
        """Destroy the pool and all its command buffers; nothing may be in flight."""
        self.dropped.clear()
        vk.destroy("vkDestroyCommandPool", self._device, self._pool)

    def _allocate(self) -> Ready:
        commands = vk.ffi.new("VkCommandBuffer[1]")
        vk.call("vkAllocateCommandBuffers", self._device, self._wanted, commands)
        self.made += 1
        info = vk.struct("VkSubmitInfo", commandBufferCount=1, pCommandBuffers=commands)
        return Ready(commands[0], info)

"""Blocks of memory from the driver: one VkDeviceMemory with one VkBuffer over all of it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any, Final

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.free_ranges import ALIGNMENT, FreeRanges
from vkml_backend_vulkan.instance import Physical
from vkml_core.errors import DeviceError

MAPPED: Final[int] = (
    vk.lib.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.lib.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT
)
LOCAL: Final[int] = vk.lib.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
CACHED: Final[int] = vk.lib.VK_MEMORY_PROPERTY_HOST_CACHED_BIT
_USAGE: Final[int] = (
    vk.lib.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT
    | vk.lib.VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT
    | vk.lib.VK_BUFFER_USAGE_TRANSFER_SRC_BIT
    | vk.lib.VK_BUFFER_USAGE_TRANSFER_DST_BIT
)


class Range:
    """So many bytes of a block that are taken."""

    __slots__ = ("address", "block", "size", "start")

    def __init__(self, block: Block, start: int, size: int) -> None:
        self.block: Final = block
        self.start: Final = start
        self.size: Final = size
        self.address: Final = block.address + start


class Block:
    """Memory from the driver: one buffer, its device address, and its host address if mapped."""

    def __init__(self, device: Any, size: int, memory_type: int, *, mapped: bool) -> None:
        self._device = device
        self.free = FreeRanges(size)
        with ExitStack() as undo:
            self.buffer = _create_buffer(device, size)
            undo.callback(vk.destroy, "vkDestroyBuffer", device, self.buffer)
            self.memory = self._allocate(size, memory_type)
            undo.callback(vk.destroy, "vkFreeMemory", device, self.memory)
            vk.call("vkBindBufferMemory", device, self.buffer, self.memory, 0)
            where = vk.struct("VkBufferDeviceAddressInfo", buffer=self.buffer)
            self.address: int = vk.lib.vkGetBufferDeviceAddress(device, where)
            self.host: Any = self._map() if mapped else None
            undo.pop_all()

    def _allocate(self, size: int, memory_type: int) -> Any:
        needs = vk.struct("VkMemoryRequirements")
        vk.lib.vkGetBufferMemoryRequirements(self._device, self.buffer, needs)
        address = vk.lib.VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT
        flags = vk.struct("VkMemoryAllocateFlagsInfo", flags=address)
        info = vk.struct(
            "VkMemoryAllocateInfo",
            pNext=flags,
            allocationSize=needs.size,
            memoryTypeIndex=memory_type,
        )
        return vk.create("vkAllocateMemory", self._device, info, vk.NULL, bytes=f"{size:,}")

    def _map(self) -> Any:
        out = vk.ffi.new("void **")
        vk.call("vkMapMemory", self._device, self.memory, 0, vk.WHOLE_SIZE, 0, out)
        return vk.ffi.cast("char *", out[0])

    def take(self, size: int) -> Range | None:
        """Take `size` free bytes that adjoin each other, if there are."""
        start = self.free.take(size)
        return None if start is None else Range(self, start, size)

    def destroy(self) -> None:
        """Give the memory back to the driver, which also unmaps it."""
        vk.destroy("vkDestroyBuffer", self._device, self.buffer)
        vk.destroy("vkFreeMemory", self._device, self.memory)


def choose_memory_type(device: Any, physical: Physical, flags: int) -> int:
    """Choose a memory type for buffers that has `flags`. Raises DeviceError if there is none."""
    buffer = _create_buffer(device, ALIGNMENT)
    needs = vk.struct("VkMemoryRequirements")
    vk.lib.vkGetBufferMemoryRequirements(device, buffer, needs)
    vk.destroy("vkDestroyBuffer", device, buffer)
    return best_memory_type(physical, flags, needs.memoryTypeBits)


def best_memory_type(physical: Physical, flags: int, allowed: int) -> int:
    """Choose among the types whose bits are in `allowed`: that which has least besides `flags`.

    Memory of the device that the host can map may be a small window, and is slow to read. Flags
    that are unknown here need features that are not enabled.
    """
    fitting = {
        i: t
        for i, t in enumerate(physical.memory_types)
        if allowed >> i & 1
        and t.flags & flags == flags
        and not t.flags & ~(LOCAL | MAPPED | CACHED)
    }
    if not fitting:
        raise DeviceError(f"vulkan: {physical.name} has no memory type with flags {flags:#x}")

    def preference(i: int) -> tuple[bool, bool, int]:
        extra = fitting[i].flags & ~flags
        return not extra & ~CACHED, bool(extra & CACHED), fitting[i].heap_bytes

    return max(fitting, key=preference)


def _create_buffer(device: Any, size: int) -> Any:
    sharing = vk.lib.VK_SHARING_MODE_EXCLUSIVE
    info = vk.struct("VkBufferCreateInfo", size=size, usage=_USAGE, sharingMode=sharing)
    return vk.create("vkCreateBuffer", device, info, vk.NULL, bytes=f"{size:,}")

"""Memory types of a device, and how much their heaps have left."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from vkml_backend_vulkan import vk

_BUDGET: Final = "VK_EXT_memory_budget"


@dataclass(frozen=True, slots=True)
class MemoryType:
    """One memory type: its properties (VkMemoryPropertyFlags), and its heap with its bytes."""

    flags: int
    heap_bytes: int
    heap: int = 0


def memory_types(handle: Any) -> tuple[MemoryType, ...]:
    """List the memory types of a physical device."""
    found = vk.struct("VkPhysicalDeviceMemoryProperties")
    vk.lib.vkGetPhysicalDeviceMemoryProperties(handle, found)
    types = (found.memoryTypes[i] for i in range(found.memoryTypeCount))
    return tuple(
        MemoryType(t.propertyFlags, found.memoryHeaps[t.heapIndex].size, t.heapIndex) for t in types
    )


def tells_budget(handle: Any) -> bool:
    """Whether the driver tells how much of a heap the process may still take."""
    get = "vkEnumerateDeviceExtensionProperties"
    listed = vk.enumerate_(get, "VkExtensionProperties", handle, vk.NULL)
    return any(vk.string(e.extensionName) == _BUDGET for e in listed)


def heap_left(handle: Any, kind: MemoryType, reserved: int, *, budget: bool) -> int:
    """Give the bytes of a heap that are left: what the driver tells, if it tells a budget.

    Else nobody else is thought to use the heap, of which `reserved` bytes are taken.
    """
    if not budget:
        return max(kind.heap_bytes - reserved, 0)
    told = vk.struct("VkPhysicalDeviceMemoryBudgetPropertiesEXT")
    chain = vk.struct("VkPhysicalDeviceMemoryProperties2", pNext=told)
    vk.lib.vkGetPhysicalDeviceMemoryProperties2(handle, chain)
    left: int = told.heapBudget[kind.heap] - told.heapUsage[kind.heap]
    return max(left, 0)

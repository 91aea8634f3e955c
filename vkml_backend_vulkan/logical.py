"""The logical device of the driver: how it is made, and what comes before its end."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.clocks import extensions
from vkml_backend_vulkan.instance import Physical
from vkml_backend_vulkan.pipeline import Pipelines
from vkml_backend_vulkan.queue import Queue
from vkml_core.errors import Error


def create_device(physical: Physical) -> Any:
    """Make a VkDevice with one compute queue. Raises DeviceError, OutOfMemoryError."""
    queue = vk.struct(
        "VkDeviceQueueCreateInfo",
        queueFamilyIndex=physical.queue_family,
        queueCount=1,
        pQueuePriorities=vk.array("float", [1.0]),
    )
    features = vk.struct("VkPhysicalDeviceVulkan12Features", bufferDeviceAddress=1)
    names = vk.array("char *", [vk.text(name) for name in extensions(physical.handle)])
    info = vk.struct(
        "VkDeviceCreateInfo",
        pNext=features,
        queueCreateInfoCount=1,
        pQueueCreateInfos=queue,
        enabledExtensionCount=len(names),
        ppEnabledExtensionNames=names,
    )
    return vk.create("vkCreateDevice", physical.handle, info, vk.NULL, device=physical.name)


def finish_device(device: Any, queue: Queue, pipelines: Pipelines) -> None:
    """Wait, save the pipeline cache and destroy the pipelines; after a loss of the device too."""
    with suppress(Error):
        queue.finish()
    # A lost device answers at once; nothing may run when what it uses is destroyed.
    vk.lib.vkDeviceWaitIdle(device)
    with suppress(Error):
        pipelines.save()
    pipelines.destroy()

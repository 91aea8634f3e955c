"""The Vulkan instance and its physical devices, best first, and what vkml knows of each."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.dispatch import Limits
from vkml_backend_vulkan.heaps import MemoryType, memory_types, tells_budget
from vkml_core.backend import DeviceKind
from vkml_core.errors import DeviceError

API_VERSION: Final = (1, 2)
_KINDS: Final[tuple[DeviceKind, ...]] = (
    "other",
    "integrated-gpu",
    "discrete-gpu",
    "virtual-gpu",
    "software",
)
"""By VkPhysicalDeviceType; drivers that run on the CPU are software rasterisers."""
_ORDER: Final[tuple[DeviceKind, ...]] = (
    "discrete-gpu",
    "integrated-gpu",
    "virtual-gpu",
    "other",
    "software",
)


@dataclass(frozen=True, slots=True)
class FloatControls:
    """The float-control modes of binary32 that a driver takes."""

    rounding_rte: bool
    signed_zero_inf_nan: bool
    denorm_preserve: bool


@dataclass(frozen=True, slots=True)
class Physical:
    """One physical device that has all that vkml needs, or `missing` saying what it lacks."""

    handle: Any
    name: str
    kind: DeviceKind
    api_version: tuple[int, int, int]
    driver: str
    driver_version: int
    uuid: str
    floats: FloatControls
    limits: Limits
    memory_types: tuple[MemoryType, ...]
    max_allocation: int
    max_allocations: int
    queue_family: int
    missing: tuple[str, ...] = ()
    budget: bool = False
    """Whether the driver tells what memory is left."""


class Instance:
    """A VkInstance, destroyed when it is no longer referenced or the process ends."""

    def __init__(self) -> None:
        name = vk.text("vkml")
        application = vk.struct(
            "VkApplicationInfo",
            pApplicationName=name,
            pEngineName=name,
            apiVersion=version_number(API_VERSION),
        )
        info = vk.struct("VkInstanceCreateInfo", pApplicationInfo=application)
        self.handle = vk.create("vkCreateInstance", info, vk.NULL, apiVersion="1.2")
        weakref.finalize(self, vk.destroy, "vkDestroyInstance", self.handle)

    def handles(self) -> list[Any]:
        """Give the physical devices in the loader's order."""
        return list(vk.enumerate_("vkEnumeratePhysicalDevices", "VkPhysicalDevice", self.handle))


@cache
def instance() -> Instance:
    """Give the process's instance. Raises DeviceError without any driver."""
    return Instance()


@cache
def surveyed() -> tuple[Physical, ...]:
    """Describe every physical device, best first; those that vkml cannot use say what they lack."""
    found = [_describe(handle) for handle in instance().handles()]
    return tuple(sorted(found, key=lambda p: _ORDER.index(p.kind)))


def usable() -> tuple[Physical, ...]:
    """Give the devices that vkml can open. Raises DeviceError telling why there is none."""
    found = tuple(p for p in surveyed() if not p.missing)
    if not found:
        lacks = "; ".join(f"{p.name} lacks {', '.join(p.missing)}" for p in surveyed())
        raise DeviceError(
            f"vulkan: no usable device: {lacks or 'the drivers list none'}; install a driver with "
            "Vulkan 1.2; `vulkaninfo --summary` lists those found"
        )
    return found


def name_of(physical: Physical) -> str:
    """Give the name that opens a device through vkml."""
    index = [p.handle for p in usable()].index(physical.handle)
    return f"vulkan:{index}" if index else "vulkan"


def version_number(version: tuple[int, int]) -> int:
    """Encode a Vulkan version."""
    return version[0] << 22 | version[1] << 12


def _version(number: int) -> tuple[int, int, int]:
    return number >> 22 & 0x7F, number >> 12 & 0x3FF, number & 0xFFF


def _describe(handle: Any) -> Physical:
    """Read properties, features, memory types and queue families of one device."""
    basic = vk.struct("VkPhysicalDeviceProperties")
    vk.lib.vkGetPhysicalDeviceProperties(handle, basic)
    version = _version(basic.apiVersion)
    # A driver older than 1.2 leaves the structs of 1.2 as they are: zeros, all missing.
    v11 = vk.struct("VkPhysicalDeviceVulkan11Properties")
    v12 = vk.struct("VkPhysicalDeviceVulkan12Properties", pNext=v11)
    if version[:2] >= API_VERSION:
        properties = vk.struct("VkPhysicalDeviceProperties2", pNext=v12)
        vk.lib.vkGetPhysicalDeviceProperties2(handle, properties)
    family = _compute_family(handle)
    return Physical(
        handle=handle,
        name=vk.string(basic.deviceName),
        kind=_kind(basic),
        api_version=version,
        driver=f"{vk.string(v12.driverName)} {vk.string(v12.driverInfo)}".strip(),
        driver_version=basic.driverVersion,
        uuid=bytes(v11.deviceUUID).hex(),
        floats=_float_controls(v12),
        limits=_limits(basic.limits, _kind(basic)),
        memory_types=memory_types(handle),
        max_allocation=v11.maxMemoryAllocationSize,
        max_allocations=basic.limits.maxMemoryAllocationCount,
        queue_family=family or 0,
        missing=tuple(_missing(handle, version, family)),
        budget=tells_budget(handle),
    )


def _missing(handle: Any, version: tuple[int, int, int], family: int | None) -> list[str]:
    if version[:2] < API_VERSION:
        return [f"Vulkan 1.2 (it has {version[0]}.{version[1]})"]
    features = vk.struct("VkPhysicalDeviceVulkan12Features")
    chain = vk.struct("VkPhysicalDeviceFeatures2", pNext=features)
    vk.lib.vkGetPhysicalDeviceFeatures2(handle, chain)
    needed = ("bufferDeviceAddress",)
    lacks = [name for name in needed if not getattr(features, name)]
    return lacks + ([] if family is not None else ["a compute queue"])


def _float_controls(v12: Any) -> FloatControls:
    return FloatControls(
        rounding_rte=bool(v12.shaderRoundingModeRTEFloat32),
        signed_zero_inf_nan=bool(v12.shaderSignedZeroInfNanPreserveFloat32),
        denorm_preserve=bool(v12.shaderDenormPreserveFloat32),
    )


def _kind(basic: Any) -> DeviceKind:
    return _KINDS[basic.deviceType] if basic.deviceType < len(_KINDS) else "other"


def _limits(limits: Any, kind: DeviceKind) -> Limits:
    x, y, z = limits.maxComputeWorkGroupCount
    invocations = min(limits.maxComputeWorkGroupInvocations, limits.maxComputeWorkGroupSize[0])
    shared, filling = limits.maxComputeSharedMemorySize, 1 if kind == "cpu" else 128
    return Limits(invocations, shared, (x, y, z), filling)


def _compute_family(handle: Any) -> int | None:
    get = "vkGetPhysicalDeviceQueueFamilyProperties"
    families = vk.enumerate_(get, "VkQueueFamilyProperties", handle)
    flag = vk.lib.VK_QUEUE_COMPUTE_BIT
    return next((i for i, f in enumerate(families) if f.queueFlags & flag), None)

"""The device's clock brought to the host's: by the driver where it can, else by what must be true.

The host's clock is `time.perf_counter_ns`.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from vkml_backend_vulkan import vk
from vkml_core.profile import Clock

CALIBRATED: Final = "VK_EXT_calibrated_timestamps"
_DEVICE, _MONOTONIC = 0, 1
"""VkTimeDomainEXT; the second is what perf_counter_ns reads on Linux."""
_WINDOW: Final = 64
"""Submissions whose bounds are held together."""


@dataclass(frozen=True, slots=True)
class Ticks:
    """How a queue family counts time: nanoseconds of a tick, and bits that are valid (0: none)."""

    period: float
    bits: int

    def nanoseconds(self, since: int, ticks: int) -> int:
        """Give the time between two counts, which wrap; the nearer way round."""
        whole = 1 << self.bits
        delta = (ticks - since) % whole
        return round((delta - whole if delta >= whole // 2 else delta) * self.period)


def ticks_of(handle: Any, family: int) -> Ticks:
    """Ask a physical device."""
    properties = vk.struct("VkPhysicalDeviceProperties")
    vk.lib.vkGetPhysicalDeviceProperties(handle, properties)
    get = "vkGetPhysicalDeviceQueueFamilyProperties"
    families = vk.enumerate_(get, "VkQueueFamilyProperties", handle)
    return Ticks(properties.limits.timestampPeriod, families[family].timestampValidBits)


def extensions(handle: Any) -> list[str]:
    """Name what a logical device has to be made with so that its clock can be read."""
    get = "vkEnumerateDeviceExtensionProperties"
    listed = vk.enumerate_(get, "VkExtensionProperties", handle, vk.NULL)
    return [CALIBRATED] if CALIBRATED in {vk.string(e.extensionName) for e in listed} else []


class Calibration:
    """Reads both clocks at once; `sample` gives nothing where the driver cannot."""

    def __init__(self, instance: Any, handle: Any, device: Any) -> None:
        self._device = device
        self._get = self._found(instance, handle) if extensions(handle) else None
        infos = [
            vk.struct("VkCalibratedTimestampInfoKHR", sType=_SAMPLED, timeDomain=domain)
            for domain in (_DEVICE, _MONOTONIC)
        ]
        self._infos = vk.array("VkCalibratedTimestampInfoKHR", infos)
        self._values = vk.ffi.new("uint64_t[2]")
        self._deviation = vk.ffi.new("uint64_t *")

    def sample(self) -> tuple[int, int] | None:
        """Give the device's ticks and the host's nanoseconds of one moment."""
        if self._get is None:
            return None
        if self._get(self._device, 2, self._infos, self._values, self._deviation):
            return None
        return self._values[0], self._values[1]

    def _found(self, instance: Any, handle: Any) -> Any:
        """Give the driver's function if both clocks are among those that it reads."""
        name = vk.text("vkGetPhysicalDeviceCalibrateableTimeDomainsEXT")
        list_domains = vk.ffi.cast(
            "PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT",
            vk.lib.vkGetInstanceProcAddr(instance, name),
        )
        count = vk.ffi.new("uint32_t *")
        list_domains(handle, count, vk.NULL)
        domains = vk.ffi.new("VkTimeDomainKHR[]", count[0])
        list_domains(handle, count, domains)
        if sys.platform != "linux" or not {_DEVICE, _MONOTONIC} <= {int(d) for d in domains}:
            return None
        name = vk.text("vkGetCalibratedTimestampsEXT")
        address = vk.lib.vkGetDeviceProcAddr(self._device, name)
        return vk.ffi.cast("PFN_vkGetCalibratedTimestampsEXT", address) if address else None


_SAMPLED: Final = vk.lib.VK_STRUCTURE_TYPE_CALIBRATED_TIMESTAMP_INFO_EXT


class Correlation:
    """Turns ticks of submissions into the host's nanoseconds."""

    def __init__(self, ticks: Ticks) -> None:
        self._ticks = ticks
        self._base: int | None = None
        self._bounds: deque[tuple[int, int]] = deque(maxlen=_WINDOW)

    def to_host(
        self, stamps: Sequence[int], submitted: int, finished: int, sample: tuple[int, int] | None
    ) -> tuple[list[int], Clock]:
        """Convert the stamps of a submission that ran between two moments of the host.

        `sample` is a moment on both clocks. Without one, the offset between the clocks lies
        where no submission, of this and the last ones, begins before it was handed over or ends
        after it was known to have ended; the middle of that is taken.
        """
        if sample is not None:
            ticks, host = sample
            return [host + self._ticks.nanoseconds(ticks, s) for s in stamps], "calibrated"
        if self._base is None:
            self._base = min(stamps)
        since = [self._ticks.nanoseconds(self._base, s) for s in stamps]
        offset = self._offset(submitted - min(since), finished - max(since))
        return [offset + s for s in since], "bounded"

    def _offset(self, least: int, most: int) -> int:
        self._bounds.append((least, most))
        low, high = max(a for a, _ in self._bounds), min(b for _, b in self._bounds)
        if low > high:  # the clocks drift: the past says nothing any more
            self._bounds.clear()
            self._bounds.append((least, most))
            low, high = least, most
        return (low + high) // 2

"""The backend called `vulkan`: what the entry point leads to. Vulkan is loaded when it is asked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from vkml_core.backend import Available, DeviceInfo, Unavailable
from vkml_core.errors import Error

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice

_BINDING: Final = "install it: pip install 'vkml[vulkan]'"
_LOADER: Final = (
    "install the Vulkan loader and a driver (on Debian: libvulkan1 and mesa-vulkan-drivers, or the "
    "GPU vendor's driver)"
)


class VulkanBackend:
    """Every Vulkan device of this machine, discrete GPUs first, software rasterisers last."""

    NAME = "vulkan"
    API_VERSION = (1, 0)

    def probe(self) -> Available | Unavailable:
        """Tell whether the binding, the loader and a usable device are there."""
        try:
            from vkml_backend_vulkan.instance import usable

            usable()
        except ImportError as error:
            return Unavailable(f"the Vulkan binding is missing ({error})", _BINDING)
        except OSError as error:
            return Unavailable(f"the Vulkan loader is missing ({error})", _LOADER)
        except Error as error:
            reason, _, advice = str(error).rpartition("; ")
            return Unavailable(reason, advice)
        return Available()

    def devices(self) -> Sequence[DeviceInfo]:
        """List the devices, best first. Raises DeviceError where there is none."""
        from vkml_backend_vulkan.instance import usable

        return [DeviceInfo(i, p.name, p.kind) for i, p in enumerate(usable())]

    def open(self, index: int) -> VulkanDevice:
        """Open a device of the list. A driver met for the first time is tested before.

        Raises DeviceError, also for a device that the self-test refuses.
        """
        from vkml_backend_vulkan.device import VulkanDevice
        from vkml_backend_vulkan.instance import usable
        from vkml_backend_vulkan.kernels import shipped
        from vkml_backend_vulkan.pipeline import cache_directory
        from vkml_backend_vulkan.selftest.meeting import verdict_of

        physical, directory = usable()[index], cache_directory()
        verdict = verdict_of(physical, directory)
        return VulkanDevice(physical, shipped(), directory, verdict=verdict)


backend: Final = VulkanBackend()

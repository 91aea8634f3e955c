"""The entry point of the group `vkml.backends`; nothing of Numba is loaded before it is opened."""

from __future__ import annotations

import platform
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from vkml_core.backend import Available, DeviceInfo, Unavailable
from vkml_core.errors import DeviceError

if TYPE_CHECKING:
    from vkml_backend_numba.device import NumbaDevice

NAME: Final = "numba"
API_VERSION: Final = (1, 2)


def _info() -> DeviceInfo:
    processor = platform.processor() or platform.machine() or "this CPU"
    return DeviceInfo(0, f"Numba on {processor}", "cpu")


class NumbaBackend:
    """The backend: one device, the CPU."""

    NAME = NAME
    API_VERSION = API_VERSION

    def probe(self) -> Available | Unavailable:
        """Tell whether Numba is installed."""
        if find_spec("numba") is None:
            return Unavailable("numba is not installed", "pip install vkml-backend-numba")
        return Available()

    def devices(self) -> tuple[DeviceInfo, ...]:
        """List the one device."""
        return (_info(),)

    def open(self, index: int) -> NumbaDevice:
        """Open device 0. Loads Numba, and compiles the kernels when a plan first runs."""
        if index != 0:
            raise DeviceError(f"{NAME}: has one device, got index {index}")
        from vkml_backend_numba.device import NumbaDevice

        return NumbaDevice(_info().name)


backend: Final = NumbaBackend()

"""The entry point of the group `vkml.backends`; nothing of Numba is loaded before it is opened."""

from __future__ import annotations

import platform
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vkml_core.backend import Available, DeviceInfo, Unavailable
from vkml_core.errors import DeviceError

if TYPE_CHECKING:
    from vkml_backend_numba.device import NumbaDevice

NAME: Final = "numba"
API_VERSION: Final = (1, 2)


PROCESSORS: Final = Path("/proc/cpuinfo")
"""Where Linux tells what the CPU has."""


def _lacks_halves() -> bool:
    """Whether the CPU is known to convert no float16: the compiler would end the process."""
    if platform.machine().lower() not in ("x86_64", "amd64") or not PROCESSORS.exists():
        return False
    flags = (line for line in PROCESSORS.read_text().splitlines() if line.startswith("flags"))
    return "f16c" not in next(flags, "f16c").split()


def _info() -> DeviceInfo:
    processor = platform.processor() or platform.machine() or "this CPU"
    return DeviceInfo(0, f"Numba on {processor}", "cpu")


class NumbaBackend:
    """The backend: one device, the CPU."""

    NAME = NAME
    API_VERSION = API_VERSION

    def probe(self) -> Available | Unavailable:
        """Tell whether Numba is installed, and whether the CPU is one for it."""
        if find_spec("numba") is None:
            return Unavailable("numba is not installed", "pip install vkml-backend-numba")
        if _lacks_halves():
            return Unavailable("this CPU has no f16c", "use the device cpu")
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

"""A complete backend from a table of kernels: what a small third-party plug-in is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from vkml_core.backend import Available, DeviceInfo, DeviceKind, Level, Unavailable
from vkml_core.checks import check_table
from vkml_core.errors import DeviceError
from vkml_core.stepwise import Conversions, Kernel, StepwiseDevice


@dataclass(frozen=True, slots=True)
class TableBackend:
    """A backend with one device that runs a table of kernels. Made by `table_backend`."""

    NAME: str
    API_VERSION: tuple[int, int]
    table: Mapping[str, Kernel]
    info: DeviceInfo
    level: Level
    conversions: Conversions | None
    prober: Callable[[], Available | Unavailable]

    def probe(self) -> Available | Unavailable:
        """Ask the function that the author gave."""
        return self.prober()

    def devices(self) -> tuple[DeviceInfo, ...]:
        """List the one device."""
        return (self.info,)

    def open(self, index: int) -> StepwiseDevice:
        """Open device 0."""
        if index != 0:
            raise DeviceError(f"{self.NAME}: has one device, got index {index}")
        return StepwiseDevice(
            self.info.name,
            self.info.kind,
            self.table,
            backend=self.NAME,
            level=self.level,
            conversions=self.conversions,
        )


def table_backend(
    name: str,
    table: Mapping[str, Kernel],
    *,
    api_version: tuple[int, int],
    device_name: str | None = None,
    kind: DeviceKind = "cpu",
    level: Level = "exact",
    probe: Callable[[], Available | Unavailable] = Available,
    conversions: Conversions | None = None,
) -> TableBackend:
    """Make a backend for the entry-point group `vkml.backends` (or for `register_backend`).

    `table` maps operations of the registry to kernels (see `vkml_core.stepwise`); rows that are
    left out are reported when a graph needs them. `api_version` is the version of the backend
    contract that the plug-in was written for: write the numbers down, do not import them.
    Raises RegistrationError naming the plug-in, each wrong row and the rule that it breaks.
    """
    check_table(name, table)
    info = DeviceInfo(0, device_name or name, kind)
    return TableBackend(name, api_version, dict(table), info, level, conversions, probe)

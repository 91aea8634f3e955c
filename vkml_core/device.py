"""`device`: a device's canonical name that can also be asked about the hardware."""

from __future__ import annotations

from collections.abc import Mapping

from vkml_core.backend import Capabilities, DeviceKind
from vkml_core.plugins import canonical, default_device, open_device, reopen_device


class device(str):
    """A device by name: `device("cpu")`, `device("vulkan:1")`; without a name, the default one.

    It is a string, so it compares equal to its canonical name. Unknown names raise DeviceError
    that lists what is installed and what failed to load.

    >>> device("cpu") == "cpu", device("cpu").kind
    (True, 'cpu')
    """

    __slots__ = ()

    def __new__(cls, name: object = None) -> device:
        """Check the name and bring it to its canonical form."""
        return super().__new__(cls, default_device() if name is None else canonical(name))

    @property
    def name(self) -> str:
        """What the hardware is called."""
        return open_device(self).name

    @property
    def kind(self) -> DeviceKind:
        """What kind of hardware it is."""
        return open_device(self).kind

    def capabilities(self) -> Capabilities:
        """Tell what it can do: operations, level, optional abilities."""
        return open_device(self).capabilities()

    def stats(self) -> Mapping[str, float]:
        """Count bytes in use and at the peak, submissions, dispatches, …"""
        return open_device(self).stats()

    def report(self) -> Mapping[str, str]:
        """Describe driver, features, level and what is missing."""
        return open_device(self).report()

    def synchronize(self) -> None:
        """Wait until everything submitted has finished."""
        open_device(self).synchronize()

    def reopen(self) -> None:
        """Open it anew, as after DeviceLost.

        Tensors from before can be read unless the device was lost; computing with them raises
        DeviceError.
        """
        reopen_device(self)

    def __repr__(self) -> str:
        return f"device('{self!s}')"

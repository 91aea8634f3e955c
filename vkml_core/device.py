"""`device`: a device's canonical name that can also be asked about the hardware."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vkml_core.backend import Capabilities, DeviceKind, Profiling
from vkml_core.errors import DeviceError
from vkml_core.plugins import canonical, default_device, open_device, reopen_device
from vkml_core.profile import SubmissionProfile


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

    @property
    def timestamps_supported(self) -> bool:
        """Whether profiling times single kernels here."""
        opened = open_device(self)
        return isinstance(opened, Profiling) and opened.timestamps_supported

    def set_profiling(self, on: bool) -> None:
        """Time what is submitted from now on (True), or stop; True forgets what was kept.

        Raises DeviceError where the device cannot profile.
        """
        self._profiling().set_profiling(bool(on))

    def profile_records(self) -> Sequence[SubmissionProfile]:
        """Give the submissions that were profiled and are kept, oldest first."""
        return self._profiling().profile_records()

    def last_profile(self) -> SubmissionProfile | None:
        """Give the newest submission that was profiled, or None."""
        found = self.profile_records()
        return found[-1] if found else None

    def set_profile_history(self, most: int) -> None:
        """Keep the newest `most` submissions. Raises ArgumentError."""
        self._profiling().set_profile_history(most)

    def _profiling(self) -> Profiling:
        opened = open_device(self)
        if not isinstance(opened, Profiling):
            raise DeviceError(
                f"{self!s}: its backend does not profile: it lacks the optional members of "
                "vkml_core.backend.Profiling"
            )
        return opened

    def __repr__(self) -> str:
        return f"device('{self!s}')"

"""The backend contract: everything that the author of a backend has to read.

A backend is found through the entry-point group `vkml.backends`. It is a module or object with
`NAME`, `API_VERSION`, `probe()`, `devices()` and `open(index)`. A device moves bytes and turns a
`Plan` into something that runs. The numeric contract is docs/numerics.md; the way there, a step at
a time, is docs/authoring-a-backend.md.

This is a promise. What a plug-in may import, and every signature of it, is written down in
docs/contract/; API_VERSION says which. Sizes and offsets of memory are in bytes, offsets and
strides of views in elements, times in nanoseconds, unless a field says otherwise.

Threads: `compile` and `run` are called by one thread at a time. `upload`, `download`,
`synchronize`, `stats` and `report` may be called by any thread at any time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, runtime_checkable

import numpy.typing as npt
from pydantic import BaseModel, ConfigDict

from vkml_core.dtypes import DType, Scalar
from vkml_core.plan import Plan
from vkml_core.shapes import Shape

if TYPE_CHECKING:
    from vkml_core.profile import SubmissionProfile

API_VERSION: Final = (1, 2)
"""(major, minor) of this contract. A backend names the version that it was written for.

Another major is refused before anything of the backend is called. A minor only adds what an older
backend can do without: a field with a default, an optional protocol, an operation, a function. All
else raises the major: a signature that changes, a name that goes, a member more of a protocol
that exists or of an enumeration, a field without a default.

1.1: `Profiling`. 1.2: `Capabilities.side_by_side`.
"""

Array = npt.NDArray[Any]
"""A NumPy array of one of the five dtypes, of rank 0 to 4."""
DeviceKind = Literal["cpu", "discrete-gpu", "integrated-gpu", "virtual-gpu", "software", "other"]
"""What kind of hardware: `best_device` prefers by it. "software" (a GPU's driver that runs on the
CPU) is used only when it is named."""
Level = Literal["exact", "exact-normal"]
"""How much of docs/numerics.md a device holds: all of it, or all of it as long as no operand and no
intermediate value is subnormal."""


@dataclass(frozen=True, slots=True)
class Available:
    """`probe()`: the backend can be opened."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """`probe()`: the backend cannot be opened here. `vkml doctor` prints both sentences."""

    reason: str
    """Why: what is missing or wrong, as it was found."""
    advice: str = ""
    """What to install or change, as a command where there is one."""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """One device that a backend can open, told without opening it."""

    index: int
    """What `open` is called with. Devices are numbered 0, 1, 2, … without gaps, best first: device
    1 of the backend `NAME` is called `NAME:1`, and device 0 is called `NAME`."""
    name: str
    """What the hardware is called."""
    kind: DeviceKind
    """What kind of hardware it is."""


class Capabilities(BaseModel):
    """What a device can do; the scheduler plans by it and reports print it.

    It does not change while the device is open. Unknown fields are refused by name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: Level = "exact"
    """What the device holds of docs/numerics.md. `VKML_REQUIRE_LEVEL` may refuse it for that."""
    ops: frozenset[str]
    """Operations of the registry that it runs, for every dtype and shape that their rows take.
    Kinds LEAF, VIEW and ASSIGN never come in a plan and need not be named."""
    fusion: bool = False
    """Whether a step may hold more than one call."""
    side_by_side: bool = False
    """Whether steps that do not need each other may run at the same time. The plan then has small
    steps early, and small TEMP slots apart, so that nothing waits for memory alone."""
    replay: bool = False
    """Whether running an executable again costs less than its first run, since commands are kept.
    It is told to whoever asks; no plan depends on it."""
    profiling: bool = False
    """Whether the device has the members of `Profiling`."""
    alignment: int = 64
    """Bytes to which arena offsets are aligned (a power of two)."""
    max_allocation: int | None = None
    """The most bytes of one buffer; no TEMP slot up to that size crosses a multiple of it. None:
    the arena may be one buffer of any size."""


class Buffer(Protocol):
    """Device memory that holds contiguous elements; freed when it is no longer referenced.

    vkml keeps buffers, hands them back to the device that made them, and compares them by identity;
    it never looks inside. Memory may be given to others as soon as Python drops the object and all
    that was submitted with it has finished.
    """

    @property
    def nbytes(self) -> int:
        """Bytes held: elements × `DType.itemsize`, 0 for an empty array."""


class Executable(Protocol):
    """A plan made ready for one device. It is kept, and run again with other buffers."""

    def run(self, inputs: Sequence[Any], scalars: Sequence[Scalar]) -> Sequence[Any]:
        """Run once: buffers for `plan.inputs`, numbers for `plan.scalars`; give one buffer for
        each of `plan.outputs`. If it raises, no STATE buffer has been changed.

        `inputs` are buffers of this device, in the order of `plan.inputs`. `scalars` are Python
        numbers in the order of `plan.scalars`, to be rounded once to the slot's dtype. An OUTPUT
        slot gets a new buffer in every run; where `plan.outputs` names an INPUT or STATE slot, the
        very object that was given for it is given back. It may return before the device has
        finished: `download` waits.

        Raises IndexError_ and DivisionError for what operations find in their operands, with the
        oracle's message; OutOfMemoryError; DeviceLost.
        """


class Device(Protocol):
    """An opened device. It is closed when it is no longer referenced."""

    @property
    def name(self) -> str:
        """What the hardware is called."""

    @property
    def kind(self) -> DeviceKind:
        """What kind of hardware it is."""

    def capabilities(self) -> Capabilities:
        """Tell what it can do."""

    def upload(self, array: Array) -> Any:
        """Copy a contiguous array into a new buffer.

        The array is the caller's: it may be overwritten as soon as this returns. Its bits are those
        of the contract already: of the five dtypes, NaNs canonical.

        Raises OutOfMemoryError, DeviceLost.
        """

    def download(self, buffer: Any, shape: Shape, dtype: DType) -> Array:
        """Copy a buffer into a new array; waits until its value is there.

        The array has that shape and dtype, is contiguous and may be written to. Raises
        OutOfMemoryError, DeviceLost.
        """

    def compile(self, plan: Plan) -> Executable:
        """Make a plan ready to run.

        A plan may name operations that are not in `capabilities().ops`: they are refused here.
        Raises UnsupportedOpError naming all that are missing; OutOfMemoryError for what no run
        could hold; DeviceLost.
        """

    def synchronize(self) -> None:
        """Wait until everything submitted has finished. Raises DeviceLost."""

    def stats(self) -> Mapping[str, float]:
        """Count reserved, in-use and peak bytes, submissions, dispatches, …

        Every backend has `reserved_bytes`, `in_use_bytes`, `peak_bytes`, `live_allocations`,
        `total_allocations`, `submissions` and `dispatches`; it may have more.
        """

    def report(self) -> Mapping[str, str]:
        """Describe driver, features, level and what is missing.

        For people: reports and certificates of the conformance suite print it.
        """


@runtime_checkable
class Profiling(Protocol):
    """What a device may have besides, since API 1.1, if its capabilities say `profiling`.

    Once switched off it keeps what it had until it is switched on anew.
    """

    @property
    def timestamps_supported(self) -> bool:
        """Whether single dispatches are timed; else records have a submission's times alone."""

    def set_profiling(self, on: bool) -> None:
        """Time what is submitted from now on, and forget what was kept; or stop."""

    def profile_records(self) -> Sequence[SubmissionProfile]:
        """Give the submissions kept, oldest first; waits for those that are not finished."""

    def set_profile_history(self, most: int) -> None:
        """Keep the newest `most` submissions (256 unless told). Raises ArgumentError."""


@runtime_checkable
class Backend(Protocol):
    """What an entry point of the group `vkml.backends` leads to: a module or an object.

    Importing it must be quick and must not fail where the hardware is missing; that is for `probe`
    to tell. Whatever its functions raise is caught, and told by `vkml doctor`.
    """

    NAME: str
    """The entry point's name: lower-case letters, digits, '-' and '_', a letter first."""
    API_VERSION: tuple[int, int]
    """The version of this contract that the backend was written for, as numbers: not imported, or
    it would claim whatever version it meets."""

    def probe(self) -> Available | Unavailable:
        """Tell, quickly and without side effects, whether it can work here."""

    def devices(self) -> Sequence[DeviceInfo]:
        """List the devices that `open` takes, at least one. Called where `probe` says available."""

    def open(self, index: int) -> Device:
        """Open one device, anew at each call.

        Raises DeviceError for a device that is not there, is in use, or fails the self-test.
        """

"""The backend contract: everything that the author of a backend has to read.

A backend is found through the entry-point group `vkml.backends`. It is a module or object with
`NAME`, `API_VERSION`, `probe()`, `devices()` and `open(index)`. A device moves bytes and turns a
`Plan` into something that runs. The numeric contract is docs/numerics.md.
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
"""(major, minor): another major is refused; a higher minor only adds. 1.1: `Profiling`; 1.2:
`Capabilities.side_by_side`."""

Array = npt.NDArray[Any]
DeviceKind = Literal["cpu", "discrete-gpu", "integrated-gpu", "virtual-gpu", "software", "other"]
Level = Literal["exact", "exact-normal"]


@dataclass(frozen=True, slots=True)
class Available:
    """`probe()`: the backend can be opened."""


@dataclass(frozen=True, slots=True)
class Unavailable:
    """`probe()`: the backend cannot be opened here: why, and what to install or change."""

    reason: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """One device that a backend can open, told without opening it."""

    index: int
    name: str
    kind: DeviceKind


class Capabilities(BaseModel):
    """What a device can do; the scheduler plans by it and reports print it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: Level = "exact"
    ops: frozenset[str]
    """Operations of the registry that it runs."""
    fusion: bool = False
    """Whether a step may hold more than one call."""
    side_by_side: bool = False
    """Whether steps that do not need each other may run at the same time. The plan then has small
    steps early, and small TEMP slots apart, so that nothing waits for memory alone."""
    replay: bool = False
    profiling: bool = False
    alignment: int = 64
    """Bytes to which arena offsets are aligned (a power of two)."""
    max_allocation: int | None = None
    """The most bytes of one buffer; no TEMP slot up to that size crosses a multiple of it."""


class Buffer(Protocol):
    """Device memory that holds contiguous elements; freed when it is no longer referenced."""

    @property
    def nbytes(self) -> int:
        """Bytes held."""


class Executable(Protocol):
    """A plan made ready for one device."""

    def run(self, inputs: Sequence[Any], scalars: Sequence[Scalar]) -> Sequence[Any]:
        """Run once: buffers for `plan.inputs`, numbers for `plan.scalars`; give one buffer for
        each of `plan.outputs`. If it raises, no STATE buffer has been changed.
        """


class Device(Protocol):
    """An opened device."""

    @property
    def name(self) -> str:
        """What the hardware is called."""

    @property
    def kind(self) -> DeviceKind:
        """What kind of hardware it is."""

    def capabilities(self) -> Capabilities:
        """Tell what it can do."""

    def upload(self, array: Array) -> Any:
        """Copy a contiguous array into a new buffer."""

    def download(self, buffer: Any, shape: Shape, dtype: DType) -> Array:
        """Copy a buffer into a new array; waits until its value is there."""

    def compile(self, plan: Plan) -> Executable:
        """Make a plan ready to run."""

    def synchronize(self) -> None:
        """Wait until everything submitted has finished."""

    def stats(self) -> Mapping[str, float]:
        """Count reserved, in-use and peak bytes, submissions, dispatches, …"""

    def report(self) -> Mapping[str, str]:
        """Describe driver, features, level and what is missing."""


@runtime_checkable
class Profiling(Protocol):
    """What a device may have besides, since API 1.1, if its capabilities say `profiling`.

    Once switched off it keeps what it had until it is switched on anew.
    """

    @property
    def timestamps_supported(self) -> bool:
        """Whether single dispatches are timed; else submissions are told without them."""

    def set_profiling(self, on: bool) -> None:
        """Time what is submitted from now on, and forget what was kept; or stop."""

    def profile_records(self) -> Sequence[SubmissionProfile]:
        """Give the submissions kept, oldest first; waits for those that are not finished."""

    def set_profile_history(self, most: int) -> None:
        """Keep the newest `most` submissions."""


@runtime_checkable
class Backend(Protocol):
    """What an entry point of the group `vkml.backends` leads to."""

    NAME: str
    API_VERSION: tuple[int, int]

    def probe(self) -> Available | Unavailable:
        """Tell, quickly and without side effects, whether it can work here."""

    def devices(self) -> Sequence[DeviceInfo]:
        """List the devices that `open` takes."""

    def open(self, index: int) -> Device:
        """Open one device."""

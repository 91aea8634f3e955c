"""What a lowering hands to the host: dispatches of compiled modules over pointers into slots."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from vkml_core.decisions import Decision
from vkml_core.plan import Slot, Step
from vkml_core.work import Done

PUSH_BYTES: Final = 128
"""Bytes of push constants that every Vulkan device has."""
ERRORS: Final = 1 << 30
"""The slot of the step's error record, for the last pointer of every module that can fail."""
ERROR_BYTES: Final = 32
"""Eight uint32: word 0 is the code (0: none), words 1 and 2 the offending int64 (low, high)."""
SCALAR_BYTES: Final = 16
"""Bytes from one host number to the next: they lie side by side in the order of their slots."""
INDEX_OUT_OF_RANGE: Final = 1
DIVISION_BY_ZERO: Final = 2


@dataclass(frozen=True, slots=True)
class Pointer:
    """An address: `offset` bytes into `slot`. A slot < 0 is the step's scratch buffer ~slot."""

    slot: int
    offset: int


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One vkCmdDispatch of the module called `module`.

    The push constants in memory are one 8-byte address for each pointer, in order, then `push`;
    together at most 128 bytes. `constants` are the uint32 values of the specialisation constants
    with ids 0, 1, 2, …; id 0 is always local_size_x.
    """

    module: str
    groups: tuple[int, int, int]
    pointers: tuple[Pointer, ...]
    push: bytes
    constants: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Lowered:
    """What one step becomes: dispatches, each finished before the next starts.

    `scratch` gives the bytes of each buffer that only this step uses; `decision` says why these
    kernels, where there are others.
    """

    dispatches: tuple[Dispatch, ...]
    scratch: tuple[int, ...] = ()
    decision: Decision | None = None
    merged: Done | None = None
    """What the dispatches do, where that is the work of neighbouring steps, too."""
    steps: range | None = None
    """Those steps of the plan, in whose places nothing runs but in this one's."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a device allows to one dispatch."""

    invocations: int
    """Of one workgroup, all of them in x."""
    shared: int
    """Bytes of shared memory of one workgroup."""
    groups: tuple[int, int, int]
    """Workgroups in x, y and z."""
    filling: int = 128
    """Workgroups from which on a device is busy; 1 where they run one after the other."""
    hardware_divide: bool = False
    """Whether the self-test found the device's own division correctly rounded."""


Lower = Callable[[Step, Sequence[Slot], Limits], Lowered]

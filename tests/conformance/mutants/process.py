"""Backends that harm the process they are in, and those that cannot be opened."""

from __future__ import annotations

import ctypes
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from mutants.base import Altered
from vkml_core.backend import Array, Available
from vkml_core.dtypes import Scalar
from vkml_core.errors import DeviceError, UnsupportedOpError
from vkml_core.host_memory import HostBuffer
from vkml_core.plan import Plan
from vkml_core.stepwise import StepwiseDevice, StepwiseExecutable

FOREVER: Final = 86_400.0


def abort(attrs: Any, x: Array) -> Array:
    """A driver calls abort() where it meets what it did not expect."""
    os.abort()


def segfault(attrs: Any, x: Array) -> Array:
    """A driver follows a null pointer."""
    ctypes.string_at(0)
    return x


def endless(attrs: Any, x: Array) -> Array:
    """A loop in a kernel that never ends, on a device without a watchdog."""
    time.sleep(FOREVER)
    return x


class Talking(StepwiseExecutable):
    """A driver with messages for its developers on standard output, not all of them text."""

    def run(self, inputs: Sequence[HostBuffer], scalars: Sequence[Scalar]) -> list[HostBuffer]:
        print('{"status": "differs"}')
        sys.stdout.flush()
        os.write(1, b"\xff\x00\x1b[2Jdriver: 1 warning\n")
        return super().run(inputs, scalars)


@dataclass(frozen=True)
class Closed(Altered):
    """The device is listed, but taken by somebody else."""

    def open(self, index: int) -> StepwiseDevice:
        raise DeviceError(f"{self.NAME}: the device is in use by another process")


@dataclass(frozen=True)
class Probing(Altered):
    """The driver waits for a device that does not answer."""

    def probe(self) -> Available:
        time.sleep(FOREVER)
        return Available()


def refusing(device: StepwiseDevice, plan: Plan) -> StepwiseExecutable:
    """A table that declares more than its compiler takes."""
    if "erf" in plan.ops():
        raise UnsupportedOpError("refuses: no kernel for erf")
    return StepwiseExecutable(device, plan)


crash = Altered("crash", {"cumsum": abort})
fault = Altered("fault", {"cumsum": segfault})
hang = Altered("hang", {"argsort": endless})
noisy = Altered("noisy", execute=Talking)
closed = Closed("closed")
probing = Probing("probing")
other_api = Altered("other-api", API_VERSION=(2, 0))
refuses = Altered("refuses", execute=refusing)

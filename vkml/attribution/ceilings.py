"""What a device can do at best, measured with vkml's own kernels, once in a process.

The bandwidth is that of a copy (one read and one write for each element), the arithmetic that of
a large matrix product in the contract's order, a multiplication and then an addition, or of what
was seen to be faster.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from vkml_core.backend import Device, DeviceKind, Executable
from vkml_core.dtypes import float32
from vkml_core.errors import Error
from vkml_core.graph import Node, Storage, build, data, pending_inputs, reachable
from vkml_core.schedule import schedule
from vkml_core.shapes import Shape, size
from vkml_core.work import work_of

_ROUNDS: Final = 3
_RUNS: Final = 4
_BUDGET: Final = 200_000_000
"""Nanoseconds for which rounds are repeated, as noise only adds."""
_LARGE: Final = (2**27, 4096)
_SMALL: Final = (2**20, 256)
_SIZES: Final[dict[DeviceKind, tuple[int, int]]] = {
    "discrete-gpu": _LARGE,
    "integrated-gpu": (2**24, 1024),
    "virtual-gpu": (2**24, 1024),
    "other": (2**24, 1024),
    "cpu": (2**22, 256),
    "software": _SMALL,
}
"""Elements that are copied, and the side of the matrices, by kind of device."""


@dataclass(frozen=True, slots=True)
class Ceilings:
    """Bytes and operations a second; 0 where the measurement failed, and `failed` says why."""

    bandwidth: float
    rate: float
    elements: int
    """What was copied."""
    side: int
    """Of the matrices that were multiplied."""
    failed: str = ""


_known: Final[WeakKeyDictionary[Device, Ceilings]] = WeakKeyDictionary()


def ceilings(device: Device) -> Ceilings:
    """Give what an opened device can do; the first call measures, for about a second."""
    found = _known.get(device)
    if found is None:
        found = _known[device] = _measured(device)
    return found


def raised(device: Device, rate: float) -> Ceilings:
    """Give the ceilings again once a kernel was seen that is faster than the matrix product."""
    found = ceilings(device)
    if found.rate and rate > found.rate:
        found = _known[device] = replace(found, rate=rate)
    return found


def _measured(device: Device) -> Ceilings:
    elements, side = _SIZES[device.kind]
    try:
        bandwidth = max(_best(device, make, (elements,), "bytes") for make in _COPIES)
        rate = _best(device, _product, (side, side), "flops")
    except Error as error:
        return Ceilings(0.0, 0.0, elements, side, f"{type(error).__name__}: {error}")
    return Ceilings(bandwidth, rate, elements, side)


def _product(x: Node) -> Node:
    return build.matmul(x, x)


_COPIES: Final[tuple[Callable[[Node], Node], ...]] = (
    lambda x: build.neg(x),
    lambda x: build.relu(build.neg(x)),  # fused, where that is another kernel
)


def _best(device: Device, make: Callable[[Node], Node], shape: Shape, what: str) -> float:
    """Run an operation on one leaf a few times; give its bytes or operations a second at best."""
    drawn = np.random.default_rng(0).standard_normal(min(size(shape), 2**20), np.float32)
    buffer = device.upload(np.resize(drawn, shape))
    root = make(data(Storage(buffer, device), shape, float32, ""))
    order = reachable([root], pending_inputs)
    scheduled = schedule(order, [root], capabilities=device.capabilities())
    work = [work_of(step, scheduled.plan.slots) for step in scheduled.plan.steps]
    amount = sum(w.flops if what == "flops" else w.read + w.written for w in work)
    inputs = [buffer for _ in scheduled.inputs]
    return amount * 1e9 / _shortest(device, device.compile(scheduled.plan), inputs)


def _shortest(device: Device, executable: Executable, inputs: list[Any]) -> float:
    """Give the nanoseconds of a run, in the best of some rounds of runs back to back."""
    executable.run(inputs, ())
    device.synchronize()
    found: list[float] = []
    end = time.perf_counter_ns() + _BUDGET
    while len(found) < _ROUNDS or time.perf_counter_ns() < end:
        start = time.perf_counter_ns()
        for _ in range(_RUNS):
            executable.run(inputs, ())
        device.synchronize()
        found.append((time.perf_counter_ns() - start) / _RUNS)
    return max(min(found), 1.0)

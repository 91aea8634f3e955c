"""A device and a clock that are simulated: each thing takes the nanoseconds that were said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from vkml_core.backend import Available, Capabilities, DeviceInfo
from vkml_core.ops.spec import REGISTRY
from vkml_core.plan import Plan
from vkml_core.profile import Dispatch, History, SubmissionProfile
from vkml_core.spans import Phase, span

SUBMIT, LATENCY, KERNEL, GAP, WAKE, READING = 7, 11, 100, 5, 13, 3


class Clock:
    """Stands for `time.perf_counter_ns`; stands still unless somebody advances it."""

    def __init__(self) -> None:
        self.now = 1_000

    def __call__(self) -> int:
        return self.now

    def advance(self, nanoseconds: int) -> None:
        self.now += nanoseconds


class SimulatedDevice:
    """Takes the constants' nanoseconds for everything, and computes nothing."""

    name, kind = "simulated", "discrete-gpu"

    def __init__(self, clock: Clock, timestamps: bool = True) -> None:
        self.clock = clock
        self.timestamps_supported = timestamps
        self.free_at = 0
        self.on = False
        self.history = History()
        self.submitted = 0

    def capabilities(self) -> Capabilities:
        return Capabilities(ops=frozenset(REGISTRY), profiling=True)

    def upload(self, array: Any) -> object:
        return object()

    def download(self, buffer: object, shape: tuple[int, ...], dtype: Any) -> Any:
        import numpy as np

        self.synchronize()
        self.clock.advance(READING)
        return np.zeros(shape, dtype.numpy)

    def compile(self, plan: Plan) -> Any:
        return Run(self, plan)

    def synchronize(self) -> None:
        if self.free_at > self.clock.now:
            with span(Phase.WAIT):
                self.clock.now = self.free_at + WAKE

    def stats(self) -> dict[str, float]:
        return {"submissions": self.submitted}

    def report(self) -> dict[str, str]:
        return {}

    def set_profiling(self, on: bool) -> None:
        self.on = on
        if on:
            self.history.clear()

    def profile_records(self) -> Sequence[SubmissionProfile]:
        return self.history.records()

    def set_profile_history(self, most: int) -> None:
        self.history.keep(most)


class Run:
    """A plan of which every step is one dispatch."""

    def __init__(self, device: SimulatedDevice, plan: Plan) -> None:
        self.device, self.plan = device, plan

    def run(self, inputs: Sequence[object], scalars: Sequence[object]) -> list[object]:
        device = self.device
        begun = device.clock.now
        device.clock.advance(SUBMIT)
        at = max(begun, device.free_at) + LATENCY
        found = []
        for i, step in enumerate(self.plan.steps):
            found.append(Dispatch(i, f"kernel of {step.calls[-1].op}", at, at + KERNEL))
            at += KERNEL + GAP
        device.free_at = at - GAP
        device.submitted += 1
        if device.on:
            timed = tuple(found) if device.timestamps_supported else ()
            device.history.add(
                SubmissionProfile(
                    device.submitted,
                    self.plan,
                    begun,
                    device.free_at + WAKE,
                    timed,
                    {},
                    "calibrated",
                )
            )
        given = dict(zip(self.plan.inputs, inputs, strict=True))
        return [given.get(slot, object()) for slot in self.plan.outputs]


class SimulatedBackend:
    """Offers one simulated device."""

    NAME, API_VERSION = "simulated", (1, 1)

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def probe(self) -> Available:
        return Available()

    def devices(self) -> tuple[DeviceInfo, ...]:
        return (DeviceInfo(0, "simulated", "discrete-gpu"),)

    def open(self, index: int) -> Any:
        return self.make()


def tick(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Put a simulated clock in the place of the host's."""
    import time

    clock = Clock()
    monkeypatch.setattr(time, "perf_counter_ns", clock)
    return clock

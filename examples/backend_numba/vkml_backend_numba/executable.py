"""A plan made ready: its program, bound to memory and run; the host does what no kernel does."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from vkml_core.backend import Array
from vkml_core.dtypes import Scalar
from vkml_core.host_memory import HostBuffer
from vkml_core.plan import Plan, SlotKind
from vkml_core.profile import Dispatch, SubmissionProfile

from vkml_backend_numba.hosted import Hosted
from vkml_backend_numba.kernels.library import prepare
from vkml_backend_numba.kernels.machine import run
from vkml_backend_numba.lower.steps import lower
from vkml_backend_numba.workspace import address

if TYPE_CHECKING:
    from vkml_backend_numba.device import NumbaDevice


MOST_TRIES: Final = 16
"""Times that a program stops for an open rounding until the host does the step."""


class NumbaExecutable:
    """A plan bound to a device."""

    def __init__(self, device: NumbaDevice, plan: Plan) -> None:
        self._device, self._plan = device, plan
        self._program = lower(plan)
        prepare(self._program.functions)
        run.prepare()
        self._hosted: dict[int, Hosted] = {}
        p, slots = self._program, plan.slots
        self._temps = [s.index for s in slots if s.kind is SlotKind.TEMP]
        self._offsets = np.array([slots[i].offset for i in self._temps], np.int64)
        self._outputs = [s for s in slots if s.kind is SlotKind.OUTPUT]
        self._own = [len(slots) + i for i, (state, _) in enumerate(p.extras) if not state]
        self._own_offsets = np.array([at for state, at in p.extras if not state], np.int64)
        self._states = [
            (len(slots) + i, slots[slot]) for i, (state, slot) in enumerate(p.extras) if state
        ]
        self._numbers = [np.zeros((), slots[s].dtype.numpy) for s in plan.scalars]
        self._addresses = np.zeros(len(slots) + len(p.extras), np.int64)
        for slot, number in zip(plan.scalars, self._numbers, strict=True):
            self._addresses[slot] = address(number)
        self._stops = [*sorted(p.hosted), len(plan.steps)]
        self._rows = [p.substeps[: self._first(step)] for step in self._stops]

    def run(self, inputs: Sequence[HostBuffer], scalars: Sequence[Scalar]) -> list[HostBuffer]:
        """Run all steps; STATE buffers change only after the last one succeeded."""
        device = self._device
        with device.workspace.lock:
            try:
                return self._run(inputs, scalars)
            except MemoryError as error:
                if isinstance(error, device.memory_errors):
                    raise
                what = f"a plan of {len(self._plan.steps)} steps"
                raise device.out_of_memory(what) from error

    def _run(self, inputs: Sequence[HostBuffer], scalars: Sequence[Scalar]) -> list[HostBuffer]:
        device, plan = self._device, self._plan
        device.submissions += 1
        device.dispatches += len(plan.steps)
        given = dict(zip(plan.inputs, inputs, strict=True))
        arrays: dict[int, Array] = {slot: buffer.array for slot, buffer in given.items()}
        with np.errstate(all="ignore"):
            for number, value in zip(self._numbers, scalars, strict=True):
                number[()] = value
        for slot in self._outputs:
            arrays[slot.index] = np.empty(slot.shape, slot.dtype.numpy)
        for index, slot in self._states:
            arrays[index] = np.empty(slot.shape, slot.dtype.numpy)
        self._bind(arrays)
        if device.profiling:
            self._profiled(arrays)
        else:
            self._steps(0, len(plan.steps), arrays)
        for index, slot in self._states:
            arrays[index].flags.writeable = False
            given[slot.index].array = arrays[index]
        return [given[s] if s in given else self._made(arrays[s]) for s in plan.outputs]

    def _made(self, array: Array) -> HostBuffer:
        return HostBuffer(array, self._device.memory)

    def _bind(self, arrays: dict[int, Array]) -> None:
        """Write down where everything is this time."""
        space, program = self._device.workspace, self._program
        for index, array in arrays.items():
            self._addresses[index] = address(array)
        self._addresses[self._temps] = space.arena.at_least(self._plan.arena) + self._offsets
        self._addresses[self._own] = space.own.at_least(program.memory) + self._own_offsets

    def _first(self, step: int) -> int:
        """Give the first substep of a step, or of one after it."""
        return bisect_left(self._program.steps, step)

    def _steps(self, first: int, last: int, arrays: dict[int, Array]) -> None:
        """Run steps `first` to `last`: the machine up to a hosted one, then the host."""
        for stop, rows in zip(self._stops, self._rows, strict=True):
            if stop < first:
                continue
            end = min(stop, last)
            self._native(first, end, rows if end == stop else rows[: self._first(end)], arrays)
            if stop >= last:
                return
            self._host(stop, arrays)
            first = stop + 1

    def _native(self, first: int, last: int, rows: Array, arrays: dict[int, Array]) -> None:
        """Run the machine; where it stops, decide what was open, or let the host do the step."""
        space, program = self._device.workspace, self._program
        at, end, tries = self._first(first), len(rows), 0
        scratch = space.scratch.at_least(program.scratch * space.workers)
        while at < end:
            at = run(
                rows,
                address(program.words),
                address(self._addresses),
                at,
                space.workers,
                scratch,
                program.scratch,
                address(space.thread_words),
            )
            if at < end:
                step = program.steps[at]
                tries += 1
                if not space.decide() or tries > MOST_TRIES:
                    self._host(step, arrays)
                    step, tries = step + 1, 0
                at = self._first(step)

    def _host(self, step: int, arrays: dict[int, Array]) -> None:
        """Let the oracle's function do a step, or raise its error."""
        hosted = self._hosted.get(step)
        if hosted is None:
            hosted = self._hosted[step] = Hosted(self._plan, step)
        program = self._program
        reads = [self._array(i, arrays) for i in program.read[step]]
        target = self._array(program.written[step], arrays)
        target.reshape(-1).view(np.uint8)[:] = hosted.run(reads).reshape(-1).view(np.uint8)

    def _array(self, index: int, arrays: dict[int, Array]) -> Array:
        """Give a slot's memory as an array."""
        if index in arrays:
            return arrays[index]
        slot = self._plan.slots[index]
        if slot.kind is SlotKind.SCALAR:
            return self._numbers[self._plan.scalars.index(index)]
        memory = self._device.workspace.arena
        raw = memory.view(int(self._addresses[index]), slot.nbytes)
        found: Array = raw.view(slot.dtype.numpy).reshape(slot.shape)
        return found

    def _profiled(self, arrays: dict[int, Array]) -> None:
        """Run step by step and keep the times."""
        device, timed = self._device, []
        began = time.perf_counter_ns()
        for i, step in enumerate(self._plan.steps):
            start = time.perf_counter_ns()
            self._steps(i, i + 1, arrays)
            name = " + ".join(call.op for call in step.calls)
            timed.append(Dispatch(i, name, start, time.perf_counter_ns()))
        ended: Any = time.perf_counter_ns()
        device.history.add(
            SubmissionProfile(
                device.submissions, self._plan, began, ended, tuple(timed), {}, "host"
            )
        )

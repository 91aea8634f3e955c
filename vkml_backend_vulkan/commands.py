"""A plan made ready for a device: lowered once, recorded and submitted at each run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.barriers import FILLED
from vkml_backend_vulkan.dispatch import ERROR_BYTES
from vkml_backend_vulkan.failures import first_error
from vkml_backend_vulkan.forecast import Forecast, check_allocations, forecast, shortage
from vkml_backend_vulkan.layout import SCALAR_BYTES, Layout
from vkml_backend_vulkan.memory import Buffer
from vkml_backend_vulkan.recording import Recording
from vkml_backend_vulkan.sizes import check_plan
from vkml_core.backend import Array
from vkml_core.decisions import publish
from vkml_core.dtypes import Scalar
from vkml_core.plan import Plan, SlotKind

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice

_UPDATE_BYTES: Final = 65536
"""What one vkCmdUpdateBuffer takes."""


@dataclass(frozen=True, slots=True)
class _Run:
    """The buffers of one run. Plans that can fail have `records`; `backups` are of `states`, of
    plans that can fail or be interrupted halfway.
    """

    made: dict[int, Buffer]
    states: list[Buffer]
    backups: list[Buffer]
    records: Buffer | None
    pages: tuple[Buffer, ...]
    bound: tuple[Buffer | None, ...]
    """In the order of the layout's bases."""

    def restore(self, submission: int) -> None:
        """Put the STATE buffers back; `submission` is the last one that uses them."""
        for state, backup in zip(self.states, self.backups, strict=bool(self.backups)):
            state.swap(backup)
            state.submission = submission


class VulkanExecutable:
    """A plan bound to a device. Each run is one submission, or several where one may take long."""

    def __init__(self, device: VulkanDevice, plan: Plan) -> None:
        """Lower the plan and make its pipelines. The caller holds the device's lock."""
        check_plan(plan)
        lowered = device.kernels.lowered(plan, device.physical.limits)
        self._device = device
        self._plan = plan
        self._layout = Layout(plan, lowered, device.physical.max_allocation)
        check_allocations(plan, lowered, device.physical)
        self._decisions = tuple(
            replace(low.decision, dispatch=f"step {i}")
            for i, low in enumerate(lowered)
            if low.decision is not None
        )
        self._recording = Recording(device, plan, lowered, self._layout)
        self._backed_up = bool(self._layout.failing) or len(self._recording.parts) > 1
        self._forecast = forecast(plan, self._layout, backed_up=self._backed_up)
        self._numbers = np.zeros(max(self._layout.scalars, 1), np.uint8)
        self._numbers_start = vk.ffi.from_buffer("char[]", self._numbers)
        self._places = [_scalar_place(self._numbers, plan, i) for i in range(len(plan.scalars))]

    def forecast(self) -> Forecast:
        """Tell the bytes that a run takes besides its inputs."""
        return self._forecast

    def run(self, inputs: Sequence[Buffer], scalars: Sequence[Scalar]) -> list[Buffer]:
        """Record and submit. Waits only if the plan has steps that can fail.

        Raises IndexError_ and DivisionError as the oracle does, OutOfMemoryError, DeviceLost.
        """
        with self._device.lock:
            self._device.queue.check()
            run = self._allocate(inputs)
            self._fill(run, scalars)
            self._submit(run)
            publish(self._decisions, f"submission {self._device.queue.submitted}")
            given = dict(zip(self._plan.inputs, inputs, strict=True))
            return [given[s] if s in given else run.made[s] for s in self._plan.outputs]

    def _allocate(self, inputs: Sequence[Buffer]) -> _Run:
        device, layout, slots = self._device, self._layout, self._plan.slots
        if (limits := device.shortage(self._forecast)) is not None:
            raise shortage(self._plan, self._forecast, limits)
        made = {s: device.memory.allocate(slots[s].nbytes) for s in layout.outputs}
        given = zip(self._plan.inputs, inputs, strict=True)
        states = [b for s, b in given if slots[s].kind is SlotKind.STATE]
        records = None
        if layout.failing:
            records = device.host.allocate(ERROR_BYTES * len(layout.failing))
        copied = states if self._backed_up else ()
        backups = [device.memory.allocate(b.nbytes) for b in copied]
        pages = device.workspace(layout.pages)
        kept = (*pages, *inputs, *made.values())
        return _Run(made, states, backups, records, pages, (records, *kept))

    def _fill(self, run: _Run, scalars: Sequence[Scalar]) -> None:
        """Write what changes from run to run: addresses, numbers, cleared error records."""
        self._recording.fill(run.bound)
        for place, number in zip(self._places, scalars, strict=True):
            # A NaN of Python may have any sign; the contract's has none.
            place[0] = number if number == number else math.nan
        if run.records is not None:
            vk.ffi.memmove(run.records.host, bytes(run.records.nbytes), run.records.nbytes)

    def _submit(self, run: _Run) -> None:
        """Submit every part; whatever stops that halfway leaves the STATE buffers as they were."""
        queue, kept = self._device.queue, (*run.bound, *run.backups)
        before = queue.submitted
        try:
            for i in range(len(self._recording.parts)):
                self._submit_part(i, run, kept)
            self._check(run)
        except BaseException:
            if queue.submitted > before:
                run.restore(queue.submitted)
            raise

    def _submit_part(self, i: int, run: _Run, kept: Sequence[object]) -> None:
        device, part = self._device, self._recording.parts[i]
        commands = device.transfer.begin()
        if i == 0:
            self._record_start(commands, run)
        self._recording.record(commands, part)
        submission = device.queue.submit(kept, part)
        for buffer in (*run.states, *run.made.values()):
            buffer.submission = submission
        device.dispatches += len(part.commands)

    def _record_start(self, commands: Any, run: _Run) -> None:
        """Record the backups, and the numbers on their way into the workspace."""
        for state, backup in zip(run.states, run.backups, strict=bool(run.backups)):
            self._device.transfer.copy(commands, state, 0, backup, 0, state.nbytes)
        if self._layout.scalars:
            self._record_numbers(commands, run)
        FILLED.record(commands)

    def _record_numbers(self, commands: Any, run: _Run) -> None:
        page, start = self._layout.numbers
        buffer = run.pages[page]
        for at in range(0, self._layout.scalars, _UPDATE_BYTES):
            part = min(_UPDATE_BYTES, self._layout.scalars - at)
            target = buffer.block.buffer, buffer.start + start + at
            vk.lib.vkCmdUpdateBuffer(commands, *target, part, self._numbers_start + at)

    def _check(self, run: _Run) -> None:
        """Wait if a step can fail; raise the error of the first one that did."""
        if run.records is None:
            return
        self._device.queue.wait(self._device.queue.submitted)
        raw = np.frombuffer(vk.ffi.buffer(run.records.host, run.records.nbytes), np.uint8)
        error = first_error(raw, self._layout.failing)
        if error is not None:
            raise error


def _scalar_place(numbers: Array, plan: Plan, i: int) -> Array:
    dtype = plan.slots[plan.scalars[i]].dtype
    start = SCALAR_BYTES * i
    return numbers[start : start + dtype.itemsize].view(dtype.numpy)

"""A plan made ready for a device: lowered once, recorded and submitted at each run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.dispatch import ERROR_BYTES, PUSH_BYTES
from vkml_backend_vulkan.failures import first_error
from vkml_backend_vulkan.layout import SCALAR_BYTES, Flat, Layout, flatten
from vkml_backend_vulkan.memory import Buffer
from vkml_backend_vulkan.queue import BETWEEN, FILLED
from vkml_backend_vulkan.transfer import copy
from vkml_core.backend import Array
from vkml_core.dtypes import Scalar
from vkml_core.errors import DeviceError, OutOfMemoryError
from vkml_core.plan import Plan, Slot, SlotKind
from vkml_core.shapes import size

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice

_UPDATE_BYTES: Final = 65536
"""What one vkCmdUpdateBuffer takes."""
_MAX_ELEMENTS: Final = 2**31 - 1
_PUSH_WORDS: Final = PUSH_BYTES // 8


@dataclass(frozen=True, slots=True)
class _Command:
    """One dispatch, ready for recording: raw arguments, and whether it waits for those before."""

    pipeline: Any
    push: Any
    push_bytes: int
    groups: tuple[int, int, int]
    barrier: bool


@dataclass(frozen=True, slots=True)
class _Run:
    """The buffers of one run. Plans that can fail have `records`, and `backups` of `states`."""

    made: dict[int, Buffer]
    states: list[Buffer]
    backups: list[Buffer]
    records: Buffer | None
    workspace: Buffer
    bound: tuple[Buffer, ...]


class VulkanExecutable:
    """A plan bound to a device. Each run is one submission."""

    def __init__(self, device: VulkanDevice, plan: Plan) -> None:
        """Lower the plan and make its pipelines. The caller holds the device's lock."""
        for slot in plan.slots:
            _check_size(slot)
        lowered = device.kernels.lowered(plan, device.physical.limits)
        flat = tuple(flatten(plan, lowered))
        self._device = device
        self._plan = plan
        self._layout = Layout(plan, lowered)
        self._push = np.zeros((max(len(flat), 1), _PUSH_WORDS), np.uint64)
        self._push_start = vk.ffi.from_buffer("char[]", self._push)
        self._commands = [self._command(i, f) for i, f in enumerate(flat)]
        self._find_addresses(flat)
        self._numbers = np.zeros(max(self._layout.scalars, 1), np.uint8)
        self._numbers_start = vk.ffi.from_buffer("char[]", self._numbers)
        self._places = [_scalar_place(self._numbers, plan, i) for i in range(len(plan.scalars))]

    def _find_addresses(self, flat: Sequence[Flat]) -> None:
        """Note which words of the push constants are addresses, of what, and how far into it."""
        pointers = [
            (i, k, p) for i, f in enumerate(flat) for k, p in enumerate(f.dispatch.pointers)
        ]
        places = [self._layout.place(flat[i].step, p) for i, _, p in pointers]
        self._words = np.array([_PUSH_WORDS * i + k for i, k, _ in pointers], np.intp)
        self._bases = np.array([base for base, _ in places], np.intp)
        self._offsets = np.array([offset for _, offset in places], np.uint64)

    def run(self, inputs: Sequence[Buffer], scalars: Sequence[Scalar]) -> list[Buffer]:
        """Record and submit. Waits only if the plan has steps that can fail.

        Raises IndexError_ and DivisionError as the oracle does, OutOfMemoryError, DeviceLost.
        """
        with self._device.lock:
            run = self._allocate(inputs)
            self._fill(run, scalars)
            submission = self._submit(run)
            if run.records is not None:
                self._check(run, run.records, submission)
            given = dict(zip(self._plan.inputs, inputs, strict=True))
            return [given[s] if s in given else run.made[s] for s in self._plan.outputs]

    def _allocate(self, inputs: Sequence[Buffer]) -> _Run:
        device, layout, slots = self._device, self._layout, self._plan.slots
        made = {s: device.memory.allocate(slots[s].nbytes) for s in layout.outputs}
        given = zip(self._plan.inputs, inputs, strict=True)
        states = [b for s, b in given if slots[s].kind is SlotKind.STATE]
        records = None
        backups: list[Buffer] = []
        if layout.failing:
            records = device.host.allocate(ERROR_BYTES * len(layout.failing))
            backups = [device.memory.allocate(b.nbytes) for b in states]
        workspace = device.workspace(layout.workspace)
        bound = (workspace, records or workspace, *inputs, *made.values())
        return _Run(made, states, backups, records, workspace, bound)

    def _fill(self, run: _Run, scalars: Sequence[Scalar]) -> None:
        """Write what changes from run to run: addresses, numbers, cleared error records."""
        bases = np.array([b.address for b in run.bound], np.uint64)
        self._push.reshape(-1)[self._words] = bases[self._bases] + self._offsets
        for place, number in zip(self._places, scalars, strict=True):
            # A NaN of Python may have any sign; the contract's has none.
            place[0] = number if number == number else math.nan
        if run.records is not None:
            vk.ffi.memmove(run.records.host, bytes(run.records.nbytes), run.records.nbytes)

    def _submit(self, run: _Run) -> int:
        device = self._device
        commands = device.transfer.begin()
        for state, backup in zip(run.states, run.backups, strict=bool(run.backups)):
            copy(commands, state, 0, backup, 0, state.nbytes)
        self._record_scalars(commands, run.workspace)
        FILLED.record(commands)
        self._record_dispatches(commands)
        submission = device.queue.submit((*run.bound, *run.backups))
        for buffer in (*run.states, *run.made.values()):
            buffer.submission = submission
        device.dispatches += len(self._commands)
        return submission

    def _check(self, run: _Run, records: Buffer, submission: int) -> None:
        """Wait; if a step failed, put the STATE buffers back and raise its error."""
        self._device.queue.wait(submission)
        raw = np.frombuffer(vk.ffi.buffer(records.host, records.nbytes), np.uint8)
        error = first_error(raw, self._layout.failing)
        if error is not None:
            for state, backup in zip(run.states, run.backups, strict=True):
                state.swap(backup)
            raise error

    def _record_scalars(self, commands: Any, workspace: Buffer) -> None:
        """Put the numbers into the command buffer, to be copied into the workspace."""
        for at in range(0, self._layout.scalars, _UPDATE_BYTES):
            part = min(_UPDATE_BYTES, self._layout.scalars - at)
            target = workspace.block.buffer, workspace.start + at
            vk.lib.vkCmdUpdateBuffer(commands, *target, part, self._numbers_start + at)

    def _record_dispatches(self, commands: Any) -> None:
        bind, push = vk.lib.vkCmdBindPipeline, vk.lib.vkCmdPushConstants
        dispatch, layout = vk.lib.vkCmdDispatch, self._device.pipelines.layout
        compute, stage = vk.lib.VK_PIPELINE_BIND_POINT_COMPUTE, vk.lib.VK_SHADER_STAGE_COMPUTE_BIT
        bound = None
        for c in self._commands:
            if c.barrier:
                BETWEEN.record(commands)
            if c.pipeline != bound:
                bind(commands, compute, c.pipeline)
                bound = c.pipeline
            push(commands, layout, stage, 0, c.push_bytes, c.push)
            dispatch(commands, *c.groups)

    def _command(self, i: int, flat: Flat) -> _Command:
        """Prepare dispatch `i`; its addresses are filled in at each run."""
        d = flat.dispatch
        addresses = 8 * len(d.pointers)
        total = addresses + len(d.push)
        if total > PUSH_BYTES or total % 4:
            raise DeviceError(
                f"vulkan: {d.module} wants {total} bytes of push constants, expected a multiple "
                f"of 4 up to {PUSH_BYTES}; this is an error of the backend"
            )
        push = self._push_start + PUSH_BYTES * i
        vk.ffi.memmove(push + addresses, d.push, len(d.push))
        pipeline = self._device.pipelines.get(d.module, d.constants)
        return _Command(pipeline, push, total, d.groups, flat.barrier)


def _check_size(slot: Slot) -> None:
    """Refuse what the kernels' 32-bit offsets cannot reach."""
    if size(slot.shape) > _MAX_ELEMENTS:
        raise OutOfMemoryError(
            f"vulkan: slot {slot.index}, {slot.dtype.name}{slot.shape}, has more than "
            f"{_MAX_ELEMENTS:,} elements, the most of one tensor; split it"
        )


def _scalar_place(numbers: Array, plan: Plan, i: int) -> Array:
    dtype = plan.slots[plan.scalars[i]].dtype
    start = SCALAR_BYTES * i
    return numbers[start : start + dtype.itemsize].view(dtype.numpy)

"""The dispatches of a plan, prepared once and recorded for the addresses of a run, a part a
submission.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.barriers import COMPUTE, BarrierCommand
from vkml_backend_vulkan.boundaries import Boundaries, Copies, boundaries
from vkml_backend_vulkan.dispatch import PUSH_BYTES, Lowered
from vkml_backend_vulkan.estimate import cut, seconds
from vkml_backend_vulkan.layout import Layout
from vkml_backend_vulkan.order import Flat, flatten
from vkml_backend_vulkan.profile import Profiler
from vkml_core.backend import DeviceKind
from vkml_core.errors import DeviceError
from vkml_core.plan import Plan

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice

_PUSH_WORDS: Final = PUSH_BYTES // 8
SHORT: Final = 4e-3
"""Seconds by estimate below which a device has finished before its host comes again, if that knows
late that nothing failed (an H200 takes about an eightieth of them)."""


@dataclass(frozen=True, slots=True)
class _Command:
    """One dispatch, ready for recording: raw arguments, and how it waits for those before."""

    pipeline: Any
    push: Any
    push_bytes: int
    groups: tuple[int, int, int]
    barrier: BarrierCommand | None


@dataclass(frozen=True, slots=True)
class Part:
    """The dispatches of one submission; as a string, the steps of the plan that they belong to."""

    plan: Plan
    commands: tuple[_Command, ...]
    steps: tuple[int, ...]
    kernels: tuple[str, ...]
    """The module of each dispatch."""
    longest: int
    """The step that takes longest by estimate."""
    settles: int
    """The dispatch before which all that can fail has finished, so that the host is told; −1 if it
    is in another part, or the host had better wait for the end."""
    copies: Copies

    def __str__(self) -> str:
        if not self.steps:
            return "a plan without steps that do anything"
        first, last = self.steps[0], self.steps[-1]
        many = f"steps {first} to {last}" if first != last else f"step {last}"
        return (
            f"{many} of a plan of {len(self.plan.steps)}, the last one {self._step(last)}, "
            f"the longest by estimate {self._step(self.longest)}"
        )

    def _step(self, i: int) -> str:
        step = self.plan.steps[i]
        slot = self.plan.slots[step.write]
        return f"step {i}, {step.calls[-1].op} to {slot.dtype.name}{slot.shape}"


class Recording:
    """Pipelines and push constants of a lowered plan, in `parts`."""

    def __init__(
        self,
        device: VulkanDevice,
        plan: Plan,
        lowered: Sequence[Lowered],
        layout: Layout,
        mirrored: Sequence[int],
    ) -> None:
        """Make the pipelines. The caller holds the device's lock. `mirrored` are slots that are
        copied to the host.
        """
        flat = tuple(ordered(device, plan, lowered))
        self._device = device
        self._push = np.zeros((max(len(flat), 1), _PUSH_WORDS), np.uint64)
        self._flat_push = self._push.reshape(-1)
        self._push_start = vk.ffi.from_buffer("char[]", self._push)
        self._find_addresses(flat, layout)
        device.pipelines.prepare((f.dispatch.module, f.dispatch.constants) for f in flat)
        times = [seconds(plan.steps[f.step], plan.slots, device.kind) for f in flat]
        told = boundaries(
            flat, mirrored, has_numbers=bool(plan.scalars), tells=bool(device.queue.spin)
        )
        early = {k for places in told.copies.values() for k in places}
        self.late = tuple(k for k in range(len(mirrored)) if k not in early)
        """Places of the mirrored slots that are to be copied after the last part."""
        self._commands = tuple(
            self._command(i, f, barrier)
            for i, (f, barrier) in enumerate(zip(flat, told.barriers, strict=True))
        )
        self.parts = tuple(self._part(plan, flat, times, part, told) for part in cut(times))
        self.settles = any(part.settles >= 0 for part in self.parts)
        """Whether the event of the device's watch is set by what is recorded."""

    def fill(self, addresses: Sequence[int]) -> None:
        """Take the addresses of a run, in the order of the layout's bases."""
        bases = np.array(addresses, np.uint64)
        self._flat_push[self._words] = bases[self._bases] + self._offsets

    def record(
        self,
        commands: Any,
        part: Part,
        profiler: Profiler | None,
        copy: Callable[[Sequence[int]], None],
    ) -> None:
        """Record the dispatches of a part, timed if there is a profiler; `copy` records the copies
        of mirrored results between them.
        """
        bind, push = vk.lib.vkCmdBindPipeline, vk.lib.vkCmdPushConstants
        dispatch, layout = vk.lib.vkCmdDispatch, self._device.pipelines.layout
        compute, stage = vk.lib.VK_PIPELINE_BIND_POINT_COMPUTE, vk.lib.VK_SHADER_STAGE_COMPUTE_BIT
        bound = None
        for i, c in enumerate(part.commands):
            if c.barrier is not None:
                c.barrier.record(commands)
            if i == part.settles:
                vk.lib.vkCmdSetEvent(commands, self._device.watch.event, COMPUTE)
            if i in part.copies:
                copy(part.copies[i])
            if c.pipeline != bound:
                bind(commands, compute, c.pipeline)
                bound = c.pipeline
            push(commands, layout, stage, 0, c.push_bytes, c.push)
            if profiler is None:
                dispatch(commands, *c.groups)
            else:
                profiler.before(commands, i)
                dispatch(commands, *c.groups)
                profiler.after(commands, i)

    def _part(
        self,
        plan: Plan,
        flat: Sequence[Flat],
        times: Sequence[float],
        part: range,
        told: Boundaries,
    ) -> Part:
        return Part(
            plan,
            self._commands[part.start : part.stop],
            tuple(flat[i].step for i in part),
            tuple(flat[i].dispatch.module for i in part),
            flat[max(part, key=times.__getitem__)].step if part else 0,
            told.settles - part.start if told.settles in part else -1,
            {i - part.start: places for i, places in told.copies.items() if i in part},
        )

    def _find_addresses(self, flat: Sequence[Flat], layout: Layout) -> None:
        """Note which words of the push constants are addresses, of what, and how far into it."""
        pointers = [
            (i, k, p) for i, f in enumerate(flat) for k, p in enumerate(f.dispatch.pointers)
        ]
        places = [layout.place(flat[i].step, p) for i, _, p in pointers]
        self._words = np.array([_PUSH_WORDS * i + k for i, k, _ in pointers], np.intp)
        self._bases = np.array([base for base, _ in places], np.intp)
        self._offsets = np.array([offset for _, offset in places], np.uint64)

    def _command(self, i: int, flat: Flat, barrier: BarrierCommand | None) -> _Command:
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
        return _Command(pipeline, push, total, d.groups, barrier)


def ordered(device: VulkanDevice, plan: Plan, lowered: Sequence[Lowered]) -> Iterator[Flat]:
    """List the dispatches of a plan as a device gets them: the checks of a short one come first,
    if the device tells what it has checked.
    """
    steps = zip(plan.steps, lowered, strict=True)
    time = sum(seconds(s, plan.slots, device.kind) * len(low.dispatches) for s, low in steps)
    return flatten(plan, lowered, checks_first=bool(device.queue.spin) and time < SHORT)


def pieces(plan: Plan, lowered: Sequence[Lowered], kind: DeviceKind) -> list[range]:
    """Give the dispatches of each submission of a lowered plan."""
    flat = flatten(plan, lowered)
    return cut([seconds(plan.steps[f.step], plan.slots, kind) for f in flat])

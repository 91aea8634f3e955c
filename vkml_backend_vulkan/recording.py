"""The dispatches of a plan, prepared once: what is recorded at each run, a part a submission."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.barriers import BETWEEN
from vkml_backend_vulkan.dispatch import PUSH_BYTES, Lowered
from vkml_backend_vulkan.estimate import cut, seconds
from vkml_backend_vulkan.layout import Flat, Layout, flatten
from vkml_backend_vulkan.memory import Buffer
from vkml_core.errors import DeviceError
from vkml_core.plan import Plan

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice

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
class Part:
    """The dispatches of one submission; as a string, the steps of the plan that they belong to."""

    plan: Plan
    commands: tuple[_Command, ...]
    steps: tuple[int, ...]
    longest: int
    """The step that takes longest by estimate."""

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
        self, device: VulkanDevice, plan: Plan, lowered: Sequence[Lowered], layout: Layout
    ) -> None:
        """Make the pipelines. The caller holds the device's lock."""
        flat = tuple(flatten(plan, lowered))
        self._device = device
        self._push = np.zeros((max(len(flat), 1), _PUSH_WORDS), np.uint64)
        self._flat_push = self._push.reshape(-1)
        self._push_start = vk.ffi.from_buffer("char[]", self._push)
        self._find_addresses(flat, layout)
        commands = tuple(self._command(i, f) for i, f in enumerate(flat))
        times = [seconds(plan.steps[f.step], plan.slots, device.kind) for f in flat]
        self.parts = tuple(
            Part(
                plan,
                commands[part.start : part.stop],
                tuple(flat[i].step for i in part),
                flat[max(part, key=times.__getitem__)].step if part else 0,
            )
            for part in cut(times)
        )

    def fill(self, bound: Sequence[Buffer | None]) -> None:
        """Write the addresses of a run's buffers, in the order of the layout's bases."""
        bases = np.array([0 if b is None else b.address for b in bound], np.uint64)
        self._flat_push[self._words] = bases[self._bases] + self._offsets

    def record(self, commands: Any, part: Part) -> None:
        """Record the dispatches of a part."""
        bind, push = vk.lib.vkCmdBindPipeline, vk.lib.vkCmdPushConstants
        dispatch, layout = vk.lib.vkCmdDispatch, self._device.pipelines.layout
        compute, stage = vk.lib.VK_PIPELINE_BIND_POINT_COMPUTE, vk.lib.VK_SHADER_STAGE_COMPUTE_BIT
        bound = None
        for c in part.commands:
            if c.barrier:
                BETWEEN.record(commands)
            if c.pipeline != bound:
                bind(commands, compute, c.pipeline)
                bound = c.pipeline
            push(commands, layout, stage, 0, c.push_bytes, c.push)
            dispatch(commands, *c.groups)

    def _find_addresses(self, flat: Sequence[Flat], layout: Layout) -> None:
        """Note which words of the push constants are addresses, of what, and how far into it."""
        pointers = [
            (i, k, p) for i, f in enumerate(flat) for k, p in enumerate(f.dispatch.pointers)
        ]
        places = [layout.place(flat[i].step, p) for i, _, p in pointers]
        self._words = np.array([_PUSH_WORDS * i + k for i, k, _ in pointers], np.intp)
        self._bases = np.array([base for base, _ in places], np.intp)
        self._offsets = np.array([offset for _, offset in places], np.uint64)

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

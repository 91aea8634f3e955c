"""A plan made ready for a device: lowered once, recorded for the addresses it meets, submitted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.barriers import BEGIN, END, WRITTEN
from vkml_backend_vulkan.bound import Bound, Places
from vkml_backend_vulkan.dispatch import Lowered
from vkml_backend_vulkan.failures import first_error
from vkml_backend_vulkan.forecast import Forecast, check_allocations, forecast, shortage
from vkml_backend_vulkan.layout import Layout, can_fail
from vkml_backend_vulkan.lower.arrange import Run
from vkml_backend_vulkan.memory import Buffer, Mirror, exchange
from vkml_backend_vulkan.mirrored import MIRRORED, small_results
from vkml_backend_vulkan.numbers import Numbers
from vkml_backend_vulkan.recorded import Recorded
from vkml_backend_vulkan.recording import Recording, pieces
from vkml_backend_vulkan.shadow import shadowed
from vkml_backend_vulkan.sizes import check_plan
from vkml_core.decisions import publish
from vkml_core.dtypes import Scalar
from vkml_core.plan import Plan, SlotKind

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice


class VulkanExecutable:
    """A plan bound to a device. Each run is one submission, or several where one may take long.

    A run whose buffers lie where those of an earlier one did submits what was recorded then.
    """

    def __init__(self, device: VulkanDevice, plan: Plan, *, linked: bool = True) -> None:
        """Lower the plan and make its pipelines: kernels linked for it, or those that all plans
        share. The caller holds the device's lock.
        """
        check_plan(plan)
        self._device = device
        self._plan = plan
        ready, shadows, lowered = prepared(device, plan, linked)
        self._layout = layout = Layout(ready, lowered, device.physical.max_allocation)
        check_allocations(plan, lowered, device.physical)
        self._chosen = {
            i: low.decision for i, low in enumerate(lowered) if low.decision is not None
        }
        self._merged = {i: low.merged for i, low in enumerate(lowered) if low.merged is not None}
        self._decisions = tuple(replace(d, dispatch=f"step {i}") for i, d in self._chosen.items())
        mirrored = () if device.memory.mapped else small_results(plan)
        self._mirrors = len(mirrored)
        self._recording = Recording(device, ready, lowered, layout, mirrored)
        self._forecast = forecast(ready, layout, frozenset(shadows.values()))
        self._needed = self._forecast.total
        self._numbers = Numbers([plan.slots[s] for s in plan.scalars])
        sizes = tuple(ready.slots[s].nbytes for s in layout.outputs)
        self._sizes = sizes[: len(sizes) - len(shadows)]
        self._spares = sizes[len(sizes) - len(shadows) :]
        self._places = Places(plan, layout, shadows, mirrored)
        self._number = device.replays.number()

    def __del__(self) -> None:
        # May run at any point of any thread: only say so.
        if hasattr(self, "_number"):
            self._device.replays.gone.append(self._number)

    def forecast(self) -> Forecast:
        """Tell the bytes that a run takes besides its inputs."""
        return self._forecast

    def run(self, inputs: Sequence[Buffer], scalars: Sequence[Scalar]) -> list[Buffer]:
        """Submit. Waits, if steps can fail, until those have passed.

        Raises IndexError_ and DivisionError as the oracle does, OutOfMemoryError, DeviceLost.
        """
        device = self._device
        with device.lock:
            device.queue.check()
            bound = self._bind(inputs)
            key, recorded = self._found(bound)
            if recorded.target is not None:
                self._numbers.write(recorded.target, scalars)
            self._submit(recorded, key, bound)
            if self._spares:
                exchange(self._places.replaced(bound), self._places.shadows(bound))
            publish(self._decisions, f"submission {device.queue.submitted}")
            return list(self._places.results(bound))

    def _bind(self, inputs: Sequence[Buffer]) -> Bound:
        """Find all memory of a run. Raises OutOfMemoryError before anything is changed."""
        device = self._device
        if len(inputs) != len(self._plan.inputs):
            raise ValueError(f"run: got {len(inputs)} buffers, expected {len(self._plan.inputs)}")
        if not device.memory.holds(self._needed):
            self._make_room()
        allocate = device.memory.allocate
        made = [allocate(nbytes) for nbytes in self._sizes]
        spares = device.spares(self._spares) if self._spares else ()
        return (*device.workspace(self._layout.pages), *inputs, *made, *spares)

    def _make_room(self) -> None:
        if (limits := self._device.shortage(self._forecast)) is not None:
            raise shortage(self._plan, self._forecast, limits)

    def _found(self, bound: Bound) -> tuple[tuple[int, ...], Recorded]:
        """Give what is recorded for these addresses, or else something yet to be recorded."""
        device, failing = self._device, len(self._layout.failing)
        records = device.watch.records(failing).address if failing else 0
        key = (self._number, records, *[b.place.address for b in bound])
        recorded = device.replays.find(key)
        if recorded is None:
            recorded = self._fresh(key)
        return key, recorded

    def _fresh(self, key: Sequence[int]) -> Recorded:
        size = self._numbers.nbytes
        numbers = self._device.host.allocate(size) if size else None
        self._recording.fill(key[1:])
        mirrors = [Mirror(self._device.host.allocate(MIRRORED)) for _ in range(self._mirrors)]
        return Recorded(self._device.replays.pool, numbers, mirrors)

    def _submit(self, recorded: Recorded, key: tuple[int, ...], bound: Bound) -> None:
        """Submit every part; wait for those that can fail."""
        device, is_new = self._device, not recorded.parts
        if self._layout.failing:
            device.watch.arm()
        self._submit_parts(recorded, bound)
        for written in self._places.written(bound):
            written.submission = recorded.submission
        for small, mirror in zip(self._places.mirrored(bound), recorded.mirrors, strict=True):
            mirror.submission = recorded.submission
            small.mirror = mirror
        if is_new:
            device.replays.add(key, recorded)
        if self._layout.failing:
            self._see(recorded.submission)

    def _submit_parts(self, recorded: Recorded, bound: Bound) -> None:
        """Submit part by part, each recorded first where it is not."""
        device, is_new, profiler = self._device, not recorded.parts, self._device.profiler
        # The host writes to mapped memory at once, so that nothing in use may go back to its pool;
        # else all that happens to memory happens in the order of submissions.
        kept = (recorded, *bound) if device.memory.mapped else (recorded,)
        for i, part in enumerate(self._recording.parts):
            if is_new:
                self._record(recorded, i, bound)
            if profiler is not None:
                profiler.start(recorded.timed[i])
            recorded.submission = device.transfer.replay(recorded.parts[i], kept, part)
            if profiler is not None:
                profiler.end(recorded.submission)
            device.dispatches += len(part.commands)

    def _record(self, recorded: Recorded, i: int, bound: Bound) -> None:
        """Record part `i`."""
        part, profiler = self._recording.parts[i], self._device.profiler
        commands = recorded.begin()
        BEGIN.record(commands)
        if profiler is not None:
            timed = profiler.begin(commands, part, self._chosen, self._merged)
            recorded.timed.append(timed)
        if i == 0 and recorded.numbers is not None:
            page, start = self._layout.numbers
            whole = self._numbers.nbytes
            self._device.transfer.copy(commands, recorded.numbers, 0, bound[page], start, whole)
        mirror = partial(self._record_mirrors, commands, recorded, bound)
        self._recording.record(commands, part, profiler, mirror)
        if part is self._recording.parts[-1] and self._recording.late:
            WRITTEN.record(commands)
            mirror(self._recording.late)
        END.record(commands)
        vk.call("vkEndCommandBuffer", commands)
        recorded.dispatches += len(part.commands)

    def _record_mirrors(
        self, commands: Any, recorded: Recorded, bound: Bound, which: Sequence[int]
    ) -> None:
        small = self._places.mirrored(bound)
        for k in which:
            memory, nbytes = recorded.mirrors[k].memory, small[k].nbytes
            self._device.transfer.copy(commands, small[k], 0, memory, 0, nbytes)

    def _see(self, submission: int) -> None:
        """Wait until no step can fail any more; raise the error of the first one that did."""
        failing = self._layout.failing
        early = self._recording.settles
        records = self._device.watch.see(submission, len(failing), early=early)
        if records is not None:
            error = first_error(np.frombuffer(records, np.uint8), failing)
            if error is not None:
                raise error


def prepared(
    device: VulkanDevice, plan: Plan, linked: bool = True
) -> tuple[Plan, Mapping[int, int], tuple[Lowered, ...]]:
    """Lower a plan, with shadows of its STATE slots where it may stop halfway."""
    kernels, limits = device.kernels, device.physical.limits
    runs: tuple[Run, ...] = ()
    if linked:
        plan, runs = kernels.arranged(plan, limits, device.physical.max_allocation)
    lower = partial(kernels.lowered, limits=limits, linked=linked, runs=runs)
    lowered = lower(plan)
    if any(s.kind is SlotKind.STATE for s in plan.slots) and (
        any(map(can_fail, lowered)) or len(pieces(plan, lowered, device.kind)) > 1
    ):
        plan, shadows = shadowed(plan)
        return plan, shadows, lower(plan)
    return plan, {}, lowered

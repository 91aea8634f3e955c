"""Plans that are run wrongly: barriers, memory, and what is left over from the run before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mutants.base import Altered
from vkml_core.backend import Array
from vkml_core.dtypes import Scalar
from vkml_core.host_memory import HostBuffer
from vkml_core.ops.spec import REGISTRY, Form
from vkml_core.plan import Plan, SlotKind
from vkml_core.stepwise import StepwiseDevice, StepwiseExecutable


class WithoutBarrier(StepwiseExecutable):
    """The last step does not wait for those before it, whose temporary values are kept in place.

    The first run is right, since the driver makes memory between the steps. From the second one
    on the last step reads what the run before has left.
    """

    def __init__(self, device: StepwiseDevice, plan: Plan) -> None:
        super().__init__(device, plan)
        self._before: dict[int, Array] = {}

    def _step(self, step: Any, arrays: Any) -> HostBuffer:
        last = step is self._steps[-1]
        made = super()._step(step, {**arrays, **self._before} if last else arrays)
        if last:
            temp = [s.index for s in self._plan.slots if s.kind is SlotKind.TEMP]
            self._before = {slot: arrays[slot] for slot in temp if slot in arrays}
        return made


class Accumulating(StepwiseExecutable):
    """Accumulators are cleared when a plan is made ready, and not again: right once."""

    def __init__(self, device: StepwiseDevice, plan: Plan) -> None:
        super().__init__(device, plan)
        self._left: dict[int, Array] = {}

    def _step(self, step: Any, arrays: Any) -> HostBuffer:
        made = super()._step(step, arrays)
        if REGISTRY[step.calls[-1][0].op].form is not Form.SUM:
            return made
        before = self._left.get(step.write, made.array.dtype.type(0))
        self._left[step.write] = made.array
        return HostBuffer(np.asarray(made.array + before), self._device.memory)


class Bound(StepwiseExecutable):
    """Commands are recorded with the addresses of the first run's inputs, and replayed as such."""

    _inputs: Sequence[HostBuffer] | None = None

    def run(self, inputs: Sequence[HostBuffer], scalars: Sequence[Scalar]) -> list[HostBuffer]:
        self._inputs = self._inputs or inputs
        return super().run(self._inputs, scalars)


class Numbers(StepwiseExecutable):
    """Commands are recorded with the numbers of the first run as constants."""

    _numbers: Sequence[Scalar] | None = None

    def run(self, inputs: Sequence[HostBuffer], scalars: Sequence[Scalar]) -> list[HostBuffer]:
        self._numbers = self._numbers or scalars
        return super().run(inputs, self._numbers)


class Reusing(StepwiseExecutable):
    """The memory of a temporary value is given away after its first reader, not after its last."""

    def run(self, inputs: Sequence[HostBuffer], scalars: Sequence[Scalar]) -> list[HostBuffer]:
        self._free: list[int] = []
        return super().run(inputs, scalars)

    def _step(self, step: Any, arrays: Any) -> HostBuffer:
        made = super()._step(step, arrays)
        self._take(arrays, made.array, step.write)
        read = {o.slot for o in step.operands} - set(step.free)
        self._free += [s for s in read if self._plan.slots[s].kind is SlotKind.TEMP]
        return made

    def _take(self, arrays: dict[int, Array], made: Array, slot: int) -> None:
        """Write a temporary value into memory that is free and large enough, as is believed."""
        if self._plan.slots[slot].kind is not SlotKind.TEMP:
            return
        for victim in self._free:
            if victim in arrays and arrays[victim].nbytes >= made.nbytes > 0:
                lost = arrays[victim].copy()
                lost.reshape(-1).view(np.uint8)[: made.nbytes] = made.reshape(-1).view(np.uint8)
                arrays[victim] = lost
                self._free.remove(victim)
                return


barrier = Altered("barrier", execute=WithoutBarrier)
accumulator = Altered("accumulator", execute=Accumulating)
bound = Altered("bound", execute=Bound)
numbers = Altered("numbers", execute=Numbers)
reused = Altered("reused", execute=Reusing)

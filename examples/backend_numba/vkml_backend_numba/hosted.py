"""A step that the oracle does: what has no kernel here, and whatever turns out to be an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

from vkml_backend_cpu.backend import backend as oracle
from vkml_core.backend import Array
from vkml_core.host_memory import HostBuffer, HostMemory
from vkml_core.plan import Operand, Plan, Slot, SlotKind
from vkml_core.stepwise import StepwiseDevice


@cache
def _device() -> StepwiseDevice:
    return oracle.open(0)


class Hosted:
    """One step of a plan as a plan of its own, run by the oracle."""

    def __init__(self, plan: Plan, index: int) -> None:
        step = plan.steps[index]
        number = {o.slot: i for i, o in enumerate(step.operands)}
        slots = [_bound(plan.slots[slot], i) for slot, i in number.items()]
        self._operands = [i for i, o in enumerate(step.operands) if number[o.slot] == i]
        place = {slot.index: i for i, slot in enumerate(slots)}
        operands = tuple(Operand(place[number[o.slot]], o.view) for o in step.operands)
        slots = [replace(slot, index=i) for i, slot in enumerate(slots)]
        made = replace(plan.slots[step.write], index=len(slots), kind=SlotKind.OUTPUT, offset=None)
        self._scalar = [slot.kind is SlotKind.SCALAR for slot in slots]
        mini = Plan(
            slots=(*slots, made),
            steps=(replace(step, operands=operands, write=made.index),),
            inputs=tuple(s.index for s in slots if s.kind is SlotKind.INPUT),
            scalars=tuple(s.index for s in slots if s.kind is SlotKind.SCALAR),
            outputs=(made.index,),
        )
        self._executable = _device().compile(mini)
        self._memory = HostMemory()

    def run(self, reads: Sequence[Array]) -> Array:
        """Run on the arrays of the step's operands. Raises what the oracle raises."""
        chosen = [reads[i] for i in self._operands]
        pairs = list(zip(chosen, self._scalar, strict=True))
        buffers = [HostBuffer(array[...], self._memory) for array, scalar in pairs if not scalar]
        numbers = [array.item() for array, scalar in pairs if scalar]
        (made,) = self._executable.run(buffers, numbers)
        return made.array


def _bound(slot: Slot, index: int) -> Slot:
    kind = SlotKind.SCALAR if slot.kind is SlotKind.SCALAR else SlotKind.INPUT
    return replace(slot, index=index, kind=kind, offset=None)

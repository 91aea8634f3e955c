"""Steps of several calls as steps of fewer, one after the other: results in between are in scratch
buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from vkml_backend_vulkan.dispatch import ERRORS, Dispatch, Limits, Lower, Lowered, Pointer
from vkml_backend_vulkan.lower.layout import padded
from vkml_core.decisions import Decision
from vkml_core.plan import Operand, Slot, SlotKind, Step
from vkml_core.shapes import View

Choose = Callable[[Step, Sequence[Slot]], int | None]
"""Gives the call after which a step is cut, or None if it can be one part."""


def parts(step: Step, slots: list[Slot], choose: Choose) -> list[Step]:
    """Cut a step until every part can be one. Appends to `slots` those that lie between parts.

    A call that two parts need is computed in both.
    """
    k = choose(step, slots)
    if k is None:
        return [step]
    call = step.calls[k]
    slots.append(Slot(len(slots), SlotKind.TEMP, call.shape, call.dtype))
    first, rest = split(step, k, slots[-1])
    return [*parts(first, slots, choose), *parts(rest, slots, choose)]


def first_call(step: Step, slots: Sequence[Slot]) -> int | None:
    """Cut after the first call, so that each call becomes a part."""
    return 0 if len(step.calls) > 1 else None


def split(step: Step, k: int, slot: Slot) -> tuple[Step, Step]:
    """Give the step that computes call `k` into a slot, and the one that goes on from there."""
    known = {k: Operand(slot.index, View.of(slot.shape))}
    return ending(step, k, slot.index), ending(step, len(step.calls) - 1, step.write, known)


def needed(step: Step, k: int, known: Sequence[int] = ()) -> list[int]:
    """List the calls that call `k` is computed from, and itself, in order; not those known."""
    found = {k}
    for i in range(k, -1, -1):
        if i in found:
            found.update(~a for a in step.calls[i].args if a < 0 and ~a not in known)
    return sorted(found)


def ending(
    step: Step, k: int, write: int, known: Mapping[int, Operand] = MappingProxyType({})
) -> Step:
    """Give the step that computes call `k` into slot `write`, some results being known."""
    operands: dict[Operand, int] = {}
    which = needed(step, k, tuple(known))

    def argument(a: int) -> int:
        if a < 0 and ~a not in known:
            return ~which.index(~a)
        return operands.setdefault(step.operands[a] if a >= 0 else known[~a], len(operands))

    calls = [replace(c, args=tuple(map(argument, c.args))) for c in (step.calls[i] for i in which)]
    return Step(tuple(calls), tuple(operands), write)


def one_by_one(
    steps: Sequence[Step], slots: Sequence[Slot], named: int, limits: Limits, lower: Lower
) -> Lowered:
    """Lower the parts of a step in order. Slots from `named` on become scratch buffers."""
    joined = _Joined(slots, named)
    last = {o.slot: i for i, part in enumerate(steps) for o in part.operands}
    for i, part in enumerate(steps):
        if part.write >= named:
            joined.write(part.write)
        joined.add(lower(part, slots, limits))
        joined.free([s for s, use in last.items() if use == i and s >= named])
    return Lowered(tuple(joined.dispatches), tuple(joined.scratch), joined.decision)


@dataclass(slots=True)
class _Joined:
    """The dispatches so far. Each waits for those before it, so scratch is used again at once."""

    slots: Sequence[Slot]
    named: int
    dispatches: list[Dispatch] = field(default_factory=list)
    scratch: list[int] = field(default_factory=list)
    decision: Decision | None = None
    _free: set[int] = field(default_factory=set)
    _held: dict[int, int] = field(default_factory=dict)

    def write(self, slot: int) -> None:
        """Give a slot between two parts its buffer."""
        self._held[slot] = self._take(padded(self.slots[slot].nbytes))

    def free(self, slots: Sequence[int]) -> None:
        """Let others have the buffers of slots that nothing reads any more."""
        self._free.update(self._held.pop(slot) for slot in slots)

    def add(self, lowered: Lowered) -> None:
        """Append the dispatches of a part."""
        own = [self._take(nbytes) for nbytes in lowered.scratch]

        def moved(p: Pointer) -> Pointer:
            if p.slot < 0:
                return Pointer(~own[~p.slot], p.offset)
            between = self.named <= p.slot != ERRORS
            return Pointer(~self._held[p.slot], p.offset) if between else p

        for d in lowered.dispatches:
            self.dispatches.append(replace(d, pointers=tuple(map(moved, d.pointers))))
        self.decision = self.decision or lowered.decision
        self._free.update(own)

    def _take(self, nbytes: int) -> int:
        """Give a free buffer, made larger if it has to be, or a new one."""
        if not self._free:
            self.scratch.append(nbytes)
            return len(self.scratch) - 1
        most = max(self._free, key=lambda i: (self.scratch[i], -i))
        self._free.remove(most)
        self.scratch[most] = max(self.scratch[most], nbytes)
        return most

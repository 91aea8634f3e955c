"""Where the pointers of a lowered plan lead, and which of its dispatches wait for those before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from vkml_backend_vulkan.dispatch import ERROR_BYTES, ERRORS, Dispatch, Lowered, Pointer
from vkml_backend_vulkan.free_ranges import padded
from vkml_core.plan import Plan, SlotKind

SCALAR_BYTES: Final = 16
WORKSPACE, RECORDS, _BOUND = 0, 1, 2
"""Places in the table of base addresses: workspace, error records, then buffers bound at a run."""


class Layout:
    """Turns a pointer into a place in the table of bases and bytes from there.

    The workspace, which all plans of a device share, holds the scalars, the arena and the scratch
    of one step at a time. The buffers bound at a run are the plan's inputs, then `outputs`.
    """

    def __init__(self, plan: Plan, lowered: Sequence[Lowered]) -> None:
        self._lowered = lowered
        self._failing = [i for i, low in enumerate(lowered) if _can_fail(low)]
        self.failing = tuple(plan.steps[i] for i in self._failing)
        """Steps with an error record."""
        self.outputs = tuple(s.index for s in plan.slots if s.kind is SlotKind.OUTPUT)
        self.scalars = SCALAR_BYTES * len(plan.scalars)
        arena = padded(self.scalars)
        self._scratch = arena + padded(plan.arena)
        self.workspace = self._scratch + max(
            (sum(map(padded, low.scratch)) for low in lowered), default=0
        )
        self._places: dict[int, tuple[int, int]] = {
            **{s: (WORKSPACE, SCALAR_BYTES * i) for i, s in enumerate(plan.scalars)},
            **{s: (_BOUND + i, 0) for i, s in enumerate((*plan.inputs, *self.outputs))},
            **{s.index: (WORKSPACE, arena + s.offset) for s in plan.slots if s.offset is not None},
        }

    def place(self, step: int, pointer: Pointer) -> tuple[int, int]:
        """Give (place in the table of bases, bytes from there) of a pointer of a step."""
        if pointer.slot == ERRORS:
            return RECORDS, ERROR_BYTES * self._failing.index(step)
        if pointer.slot < 0:
            before = sum(map(padded, self._lowered[step].scratch[: ~pointer.slot]))
            return WORKSPACE, self._scratch + before + pointer.offset
        base, start = self._places[pointer.slot]
        return base, start + pointer.offset


def _can_fail(lowered: Lowered) -> bool:
    return any(p.slot == ERRORS for d in lowered.dispatches for p in d.pointers)


@dataclass(frozen=True, slots=True)
class Flat:
    """One dispatch of one step, and whether it waits for those before it."""

    step: int
    dispatch: Dispatch
    barrier: bool


def flatten(plan: Plan, lowered: Sequence[Lowered]) -> Iterator[Flat]:
    """List the dispatches that do something, with the barriers of plan, steps and shared scratch.

    The barrier of a step without dispatches is due at the next one, which may rely on it.
    """
    waits = {b.before for b in plan.barriers}
    due = scratch_used = False
    for i, low in enumerate(lowered):
        due |= i in waits or (scratch_used and bool(low.scratch))
        dispatches = [d for d in low.dispatches if 0 not in d.groups]
        for k, dispatch in enumerate(dispatches):
            yield Flat(i, dispatch, due or k > 0)
            scratch_used &= not (due or k > 0)
            due = False
        scratch_used |= bool(dispatches and low.scratch)

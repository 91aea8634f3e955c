"""Steps to substeps: a head, then a chain that goes on with it; or a chain alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from vkml_core.backend import Array
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Call, Plan, SlotKind, Step
from vkml_core.shapes import View, size

from vkml_backend_numba.lower import chains
from vkml_backend_numba.lower.builder import Builder
from vkml_backend_numba.lower.heads import HEADS, IN_RANGES, held
from vkml_backend_numba.lower.operands import Place, has_elements

COPY = "contiguous"


@dataclass(frozen=True)
class Program:
    """A plan as the machine takes it."""

    substeps: Array
    words: Array
    steps: tuple[int, ...]
    """The step of each substep."""
    hosted: frozenset[int]
    """Steps that the oracle's functions do."""
    extras: tuple[tuple[bool, int], ...]
    written: tuple[int, ...]
    """The number of the memory that each step writes."""
    read: tuple[tuple[int, ...], ...]
    """The numbers of the memory of each step's operands."""
    memory: int
    scratch: int
    functions: frozenset[int]
    """Numbers of the functions that it calls."""


def lower(plan: Plan) -> Program:
    """Write a plan's program. A STATE slot's new value is memory of its own, which later steps
    read, so that a run that fails changes nothing.
    """
    builder = Builder(len(plan.slots))
    now = list(range(len(plan.slots)))
    hosted, written, read = set(), [], []
    for i, step in enumerate(plan.steps):
        builder.begin(i)
        read.append(tuple(now[o.slot] for o in step.operands))
        target = step.write
        if plan.slots[target].kind is SlotKind.STATE:
            target = builder.new_state(target)
        written.append(target)
        mark = builder.mark()
        if not _lowered(builder, plan, step, now, target):
            builder.undo(mark)
            hosted.add(i)
        now[step.write] = target
    return Program(
        *builder.finished(),
        tuple(builder.steps),
        frozenset(hosted),
        tuple(builder.extras),
        tuple(written),
        tuple(read),
        builder.memory,
        builder.scratch,
        builder.functions(),
    )


def _lowered(builder: Builder, plan: Plan, step: Step, now: Sequence[int], target: int) -> bool:
    if not size(step.calls[-1].shape) or not all(map(has_elements, step.operands)):
        return False
    places = [replace(Place.of(o, plan.slots[o.slot]), slot=now[o.slot]) for o in step.operands]
    first, dtype = step.calls[0], step.calls[-1].dtype
    if REGISTRY[first.op].kind is Kind.ELEMENTWISE:
        if not chains.can_run(step.calls, places):
            return False
        chains.emit(builder, step.calls, places, target, dtype)
        return True
    if first.op == COPY and len(step.calls) == 1:
        chains.emit(builder, (), [places[first.args[0]]], target, dtype)
        return True
    return first.op in HEADS and _with_head(builder, step, places, target)


def _with_head(builder: Builder, step: Step, places: list[Place], target: int) -> bool:
    """Make the head's result where the step writes if it fits there, else in a temporary; a float16
    head is narrowed before anything goes on with it.
    """
    first, dtype = step.calls[0], step.calls[-1].dtype
    result = Place(target, View.of(first.shape), first.dtype)
    calls, operands = _rest(step, places, result)
    if calls and not chains.can_run(calls, operands):
        return False
    made = held(first.dtype, first.op)
    slot = target if made is dtype else builder.temporary(size(first.shape) * 8)
    if not HEADS[first.op](builder, first, [places[a] for a in first.args], slot):
        return False
    result = Place(slot, View.of(first.shape), made)
    if made is not first.dtype:
        narrowed = builder.temporary(size(first.shape) * 2) if calls else target
        chains.emit(builder, (), [result], narrowed, first.dtype)
        result = Place(narrowed, result.view, first.dtype)
    if not calls:
        return True
    calls, operands = _rest(step, places, result)
    if first.op in IN_RANGES and made is first.dtype:
        builder.go_on(chains.describe(builder, calls, operands, target, dtype))
    else:
        chains.emit(builder, calls, operands, target, dtype)
    return True


def _rest(step: Step, places: list[Place], result: Place) -> tuple[tuple[Call, ...], list[Place]]:
    """Give the calls after the head and what they read: the head's result comes first."""
    used = sorted({a for c in step.calls[1:] for a in c.args if a >= 0})
    number = {a: i + 1 for i, a in enumerate(used)} | {-1: 0}
    calls = tuple(
        replace(c, args=tuple(number[a] if a >= -1 else a + 1 for a in c.args))
        for c in step.calls[1:]
    )
    return calls, [result, *(places[a] for a in used)]

"""`verify(plan)`: raise PlanError, naming step and rule, if a plan could compute wrong bits.

It replays what steps read and write. Which conflicts need a barrier it asks the pass that places
them; the tests' null device checks that answer by running steps in every order that is allowed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final, NoReturn, cast

from vkml_core.dtypes import DType
from vkml_core.errors import Error, PlanError
from vkml_core.graph import Node
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Call, Hazard, Plan, Slot, SlotKind, Step
from vkml_core.schedule.group import HEADS
from vkml_core.schedule.hazards import arena_range, hazards, touched
from vkml_core.schedule.ranges import RangeMap
from vkml_core.schedule.state import reads_in_step
from vkml_core.shapes import Shape, size

_NOT_RUN: Final = frozenset({Kind.LEAF, Kind.VIEW, Kind.ASSIGN})
"""Kinds that a plan has no steps for: slots, operands' views and STATE slots stand for them."""
_WRITABLE: Final = frozenset({SlotKind.STATE, SlotKind.TEMP, SlotKind.OUTPUT})
_RETURNABLE: Final = frozenset({SlotKind.INPUT, SlotKind.STATE, SlotKind.OUTPUT})


@dataclass(frozen=True, slots=True)
class _Typed:
    """Stands for a node where a row infers a call's shape and dtype."""

    shape: Shape
    dtype: DType


def verify(plan: Plan, *, alignment: int = 1, final: bool = True) -> None:
    """Check every rule of plans; raise PlanError at the first that is broken.

    `final=False` is for plans between passes, which have no arena and no barriers yet.
    """
    checks: tuple[Callable[[Plan], None], ...] = (
        _check_slots,
        _check_bindings,
        _check_steps,
        _check_writes,
    )
    for check in checks:
        check(plan)
    if final:
        _check_arena(plan, alignment)
        _check_lifetimes(plan)
        _check_barriers(plan)


def _fail(rule: str, step: int | None = None) -> NoReturn:
    raise PlanError("plan: " + rule if step is None else f"plan: step {step}: {rule}")


def _check_slots(plan: Plan) -> None:
    for i, slot in enumerate(plan.slots):
        if slot.index != i:
            _fail(f"slot {i} says that its index is {slot.index}")
        if slot.kind is not SlotKind.TEMP and slot.offset is not None:
            _fail(f"slot {i} is {slot.kind.value} and has an arena offset")
        if slot.kind is SlotKind.SCALAR and size(slot.shape) != 1:
            _fail(f"slot {i} is a scalar of {size(slot.shape)} elements")


def _check_bindings(plan: Plan) -> None:
    """Bindings name each slot of their kinds once; outputs name slots that outlive the run."""
    for name, bound, kinds in (
        ("inputs", plan.inputs, {SlotKind.INPUT, SlotKind.STATE}),
        ("scalars", plan.scalars, {SlotKind.SCALAR}),
    ):
        if sorted(bound) != [s.index for s in plan.slots if s.kind in kinds]:
            _fail(f"{name} {bound} are not the slots of kind {sorted(k.value for k in kinds)}")
    for output in plan.outputs:
        if not 0 <= output < len(plan.slots):
            _fail(f"output slot {output} does not exist")
        if plan.slots[output].kind not in _RETURNABLE:
            _fail(f"output slot {output} is {plan.slots[output].kind.value}")
    unused = {s.index for s in plan.slots if s.kind is SlotKind.OUTPUT} - set(plan.outputs)
    if unused:
        _fail(f"slots {sorted(unused)} are of kind output but no output")


def _check_steps(plan: Plan) -> None:
    for i, step in enumerate(plan.steps):
        try:
            for broken in chain(_operand_faults(plan, step), _call_faults(plan, step)):
                _fail(broken, i)
        except PlanError:
            raise
        except Error as error:
            _fail(str(error), i)


def _operand_faults(plan: Plan, step: Step) -> Iterator[str]:
    for k, operand in enumerate(step.operands):
        if not 0 <= operand.slot < len(plan.slots):
            yield f"operand {k} reads slot {operand.slot}, which does not exist"
        if len(operand.view.shape) != len(operand.view.strides):
            yield f"operand {k} has {len(operand.view.strides)} strides for {operand.view.shape}"
        low, high = operand.view.span()
        elements = size(plan.slots[operand.slot].shape)
        if low < 0 or high > elements:
            yield f"operand {k} reads elements {low} to {high} of the {elements} in its slot"
    if not 0 <= step.write < len(plan.slots):
        yield f"it writes slot {step.write}, which does not exist"


def _call_faults(plan: Plan, step: Step) -> Iterator[str]:
    if not step.calls:
        yield "it has no call"
    known: list[_Typed] = []
    for k, call in enumerate(step.calls):
        if call.op not in REGISTRY:
            yield f"no operation is called {call.op!r}"
        spec = REGISTRY[call.op]
        if spec.kind in _NOT_RUN:
            yield f"{call.op} is of kind {spec.kind.value}, which no step runs"
        if len(call.args) != (spec.arity or max(len(call.args), 1)):
            yield f"{call.op} takes {spec.arity or 'some'} arguments, got {len(call.args)}"
        if any(not -k <= a < len(step.operands) for a in call.args):
            yield f"call {k} ({call.op}) has arguments {call.args}, which are not all there"
        if len(step.calls) > 1:
            yield from _fusion_faults(step, k)
        known.append(_Typed(call.shape, call.dtype))
        yield from _type_faults(plan, step, call, known)
    used = {a for call in step.calls for a in call.args}
    wanted = {*range(len(step.operands)), *(~k for k in range(len(step.calls) - 1))}
    if used != wanted:
        yield f"operands or calls {sorted(wanted - used)} are not used"
    yield from _result_faults(plan.slots[step.write], step)


def _type_faults(plan: Plan, step: Step, call: Call, known: list[_Typed]) -> Iterator[str]:
    """The row's own inference agrees with the call."""
    operands = [_Typed(o.view.shape, plan.slots[o.slot].dtype) for o in step.operands]
    given = [operands[a] if a >= 0 else known[~a] for a in call.args]
    spec = REGISTRY[call.op]
    if given[0].dtype not in spec.dtypes:
        yield f"{call.op} does not take {given[0].dtype.name}"
    shape, dtype = spec.infer(cast("list[Node]", given), call.attrs)
    if (shape, dtype) != (call.shape, call.dtype):
        wrong = f"{call.dtype.name}{call.shape}"
        yield f"{call.op} gives {dtype.name}{shape}, the call says {wrong}"


def _fusion_faults(step: Step, k: int) -> Iterator[str]:
    """A head may come first; all else is element-wise, of the shape that is written."""
    call, last = step.calls[k], step.calls[-1]
    kind = REGISTRY[call.op].kind
    if kind is not Kind.ELEMENTWISE and (k > 0 or kind not in HEADS):
        yield f"call {k} ({call.op}) is of kind {kind.value}, which cannot be fused there"
    if call.shape != last.shape:
        yield f"call {k} ({call.op}) has shape {call.shape}, the step writes {last.shape}"


def _result_faults(slot: Slot, step: Step) -> Iterator[str]:
    last = step.calls[-1]
    if (size(last.shape), last.dtype) != (size(slot.shape), slot.dtype):
        wrong = f"{last.dtype.name}{last.shape}"
        yield f"it gives {wrong} to slot {slot.index}, {slot.dtype.name}{slot.shape}"


def _check_writes(plan: Plan) -> None:
    """Slots are written once, before they are read; a STATE may be read before, but in the step
    that writes it only element by element.
    """
    written: Counter[int] = Counter()
    for i, step in enumerate(plan.steps):
        kinds = {o.slot: plan.slots[o.slot].kind for o in step.operands}
        for slot, kind in kinds.items():
            if kind in _WRITABLE - {SlotKind.STATE} and not written[slot]:
                _fail(f"it reads slot {slot} before it is written", i)
        if not reads_in_step(step, plan.slots[step.write]):
            _fail(f"it overwrites slot {step.write} while it reads other elements of it", i)
        if plan.slots[step.write].kind not in _WRITABLE:
            _fail(f"it writes slot {step.write}, {plan.slots[step.write].kind.value}", i)
        written[step.write] += 1
        if written[step.write] > 1:
            _fail(f"it writes slot {step.write} a second time", i)
    for s in plan.slots:
        if s.kind in _WRITABLE and not written[s.index]:
            _fail(f"slot {s.index} is {s.kind.value} and never written")


def _temps(plan: Plan) -> Iterable[Slot]:
    return (s for s in plan.slots if s.kind is SlotKind.TEMP)


def _check_arena(plan: Plan, alignment: int) -> None:
    for slot in _temps(plan):
        if slot.offset is None:
            _fail(f"slot {slot.index} has no place in the arena")
        if slot.offset % alignment:
            _fail(f"slot {slot.index} is at {slot.offset}, not aligned to {alignment}")
        if slot.offset < 0 or slot.offset + slot.nbytes > plan.arena:
            _fail(f"slot {slot.index} is outside the arena of {plan.arena} bytes")


def _check_lifetimes(plan: Plan) -> None:
    """What a step reads has not been overwritten, and what it writes is not what it reads."""
    arena = RangeMap()
    for i, step in enumerate(plan.steps):
        write = plan.slots[step.write]
        if write.kind is SlotKind.TEMP:
            arena.put(*arena_range(write), write.index)
        for read in (plan.slots[s] for s in touched(step)):
            if read.kind is SlotKind.TEMP and not arena.owned_by(*arena_range(read), read.index):
                _fail(f"slot {read.index} has lost bytes to a later slot when it is read", i)


def _check_barriers(plan: Plan) -> None:
    """Every hazard is covered: WAR by any barrier, the others by one that names them."""
    for b in plan.barriers:
        if not 0 <= b.after < b.before < len(plan.steps) or not b.hazards:
            _fail(f"barrier {b.after} → {b.before} for {len(b.hazards)} hazards is not possible")
    waiting = sorted(plan.barriers, key=lambda b: b.before, reverse=True)
    done = dict.fromkeys(Hazard, -1)
    for conflict in hazards(plan):
        while waiting and waiting[-1].before <= conflict.before:
            barrier = waiting.pop()
            for hazard in barrier.hazards | {Hazard.WAR}:
                done[hazard] = max(done[hazard], barrier.after)
        if conflict.after > done[conflict.hazard]:
            what = f"{conflict.hazard.name} ({conflict.hazard.value}) after step {conflict.after}"
            _fail(f"no barrier covers {what}", conflict.before)

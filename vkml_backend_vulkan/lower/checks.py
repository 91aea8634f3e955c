"""Where the indices of a plan are checked: each once, and early where what they name comes late."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from vkml_backend_vulkan.lower.layout import collapse
from vkml_core.plan import Call, Operand, Plan, SlotKind, Step
from vkml_core.shapes import size


class Check(Enum):
    """Where the indices of a call are checked."""

    HERE = "by the call's own kernel, if that reads what they name"
    APART = "by a kernel of their own, for which nothing waits"
    BEFORE = "by an earlier step"


@dataclass(frozen=True, slots=True)
class Indexed:
    """Attributes of a gather or scatter_add, and where its indices are checked."""

    axis: int
    size: int | None
    """A scatter_add's."""
    check: Check


def check_of(call: Call) -> Check:
    """Tell where the indices of a call are checked."""
    return call.attrs.check if isinstance(call.attrs, Indexed) else Check.HERE


def with_checks(plan: Plan) -> Plan:
    """Note at each gather and scatter_add where its indices are checked.

    The host waits for checks before it goes on. So the indices of a gather whose table is computed
    later than they are get a kernel of their own, which runs beside that. Indices that an earlier
    step checks for the same bound or a smaller one are not checked again: that step tells first.
    """
    if not any(call.op in _BOUNDS for step in plan.steps for call in step.calls):
        return plan
    depths = _depths(plan)
    checked: dict[Hashable, int] = {}
    steps = (_noted(plan, step, depths, checked) for step in plan.steps)
    return replace(plan, steps=tuple(steps))


def _of_table(step: Step) -> int:
    call = step.calls[0]
    axis: int = call.attrs.axis
    return step.operands[call.args[0]].view.shape[axis]


def _of_result(step: Step) -> int:
    bound: int = step.calls[0].attrs.size
    return bound


_BOUNDS: Final[dict[str, Callable[[Step], int]]] = {
    "gather": _of_table,
    "scatter_add": _of_result,
}
"""What the indices of an operation have to be below."""


def _noted(plan: Plan, step: Step, depths: Mapping[int, int], checked: dict[Hashable, int]) -> Step:
    call = step.calls[0]
    if call.op not in _BOUNDS:
        return step
    bound = _BOUNDS[call.op](step)
    table, index = (step.operands[a] for a in call.args[:2])
    key = _elements(plan, index)
    late = depths.get(table.slot, 0) > depths.get(index.slot, 0)
    check = Check.APART if call.op == "gather" and late else Check.HERE
    if key is not None:
        if checked.get(key, bound + 1) <= bound:
            check = Check.BEFORE
        checked[key] = min(checked.get(key, bound), bound)
    attrs = Indexed(call.attrs.axis, getattr(call.attrs, "size", None), check)
    return replace(step, calls=(replace(call, attrs=attrs), *step.calls[1:]))


def _elements(plan: Plan, operand: Operand) -> Hashable | None:
    """Name the elements that an operand reads; None where there are none, or they change."""
    view = operand.view
    if not size(view.shape) or plan.slots[operand.slot].kind is SlotKind.STATE:
        return None
    moving = [(d, s) for d, s in zip(view.shape, view.strides, strict=True) if d > 1 and s]
    extents, (strides,) = collapse(tuple(d for d, _ in moving), tuple(s for _, s in moving))
    return operand.slot, view.offset, extents, strides


def _depths(plan: Plan) -> dict[int, int]:
    """Give for each slot that is written how many steps have to run for it."""
    found: dict[int, int] = {}
    for step in plan.steps:
        found[step.write] = 1 + max((found.get(o.slot, 0) for o in step.operands), default=0)
    return found

"""Gradients of max pooling whose indices the plan computes: each pixel looks at few windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from vkml_backend_vulkan.dispatch import Limits, Lowered, Pointer
from vkml_backend_vulkan.lower.conv import known, window
from vkml_backend_vulkan.lower.launch import each_output, read
from vkml_backend_vulkan.lower.layout import only_call, pack
from vkml_backend_vulkan.shaders.table import TOKENS
from vkml_core.dtypes import float16, float32
from vkml_core.plan import Call, Plan, Slot, Step
from vkml_core.plan_rules import is_whole
from vkml_core.shapes import Shape, size

_DTYPES: Final = (float32, float16)


@dataclass(frozen=True, slots=True)
class Unpool:
    """Attributes of a max_unpool2d that is known to undo a pooling with these windows."""

    image: Shape
    pooling: Any


def with_known_windows(plan: Plan) -> Plan:
    """Note at each max_unpool2d the pooling that its indices come from, where a step of the plan
    makes them. Such indices are in range.
    """
    pooled = {
        step.write: (step.calls[0].attrs, step.operands[0].view.shape)
        for step in plan.steps
        if len(step.calls) == 1 and step.calls[0].op == "max_pool2d_indices"
    }
    if not pooled:
        return plan

    def noted(step: Step) -> Step:
        call = step.calls[0]
        if call.op != "max_unpool2d" or call.dtype not in _DTYPES:
            return step
        index = step.operands[call.args[1]]
        attrs, image = pooled.get(index.slot, (None, ()))
        slot = plan.slots[index.slot]
        same = slot.shape == index.view.shape and is_whole(index.view, size(slot.shape))
        if not same or image != call.shape:
            return step
        known = replace(call, attrs=Unpool(call.attrs.image, attrs))
        return replace(step, calls=(known, *step.calls[1:]))

    return replace(plan, steps=tuple(map(noted, plan.steps)))


def is_known(call: Call) -> bool:
    """Whether a call is a max_unpool2d with known windows."""
    return isinstance(call.attrs, Unpool)


def lower(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Lower a max_unpool2d with known windows."""
    call, x, index = only_call(step), read(step, 0, slots), read(step, 1, slots)
    attrs, count, token = call.attrs.pooling, size(call.shape), TOKENS[call.dtype]
    geometry = window(attrs, call.attrs.image, attrs.kernel)
    push = pack(*geometry, *x.without(), count, *call.shape[:2])
    pointers = (x.pointer, index.pointer, Pointer(step.write, 0))
    name, constants = f"pool.max_unpool2d.{token}", known(geometry, count)
    return Lowered(each_output(name, count, pointers, push, limits, token, constants))

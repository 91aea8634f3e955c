"""A plan as text: counts and bytes, the slots of each kind, and a line a step.

%3:f32[8,4]    slot 3 as the step sees it: dtype and shape
%3ᵀ:f32[4,8]   the same with its last two axes swapped; other views are named after it
%5:f32         a scalar given at run time, whatever the shape
%3! ← %1 · %2  the step writes slot 3 from slots 1 and 2; ! is a state, overwritten in place
| RAW after 2  before this step starts, step 2 and all earlier ones must have finished
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, Final

from vkml_core.dtypes import DType
from vkml_core.plan import Barrier, Call, Operand, Plan, Slot, SlotKind, Step
from vkml_core.shapes import Shape, View, size

_WIDTH: Final = 100
_WAIT_COLUMN: Final = 80
_SHORT: Final = {"float32": "f32", "float16": "f16", "int32": "i32", "int64": "i64"}
_UNITS: Final = ("B", "KiB", "MiB", "GiB", "TiB")


def format_plan(plan: Plan) -> str:
    """Print a plan for a reader."""
    return "\n".join((*_header(plan), "", *_steps(plan)))


def format_bytes(count: int) -> str:
    """Print a number of bytes.

    >>> format_bytes(640), format_bytes(2560)
    ('640 B', '2.5 KiB')
    """
    value, unit = float(count), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{count} B" if unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def _header(plan: Plan) -> Iterator[str]:
    calls = sum(1 for _ in plan.ops())
    yield (
        f"plan: {_many(len(plan.steps), 'step')} of {_many(calls, 'call')}, "
        f"{_many(len(plan.barriers), 'barrier')}, arena of {format_bytes(plan.arena)}"
    )
    for kind in SlotKind:
        slots = [s for s in plan.slots if s.kind is kind]
        if slots:
            total = format_bytes(sum(s.nbytes for s in slots))
            title = f"  {kind.value:<7} {len(slots):>3}, {total:>9}: "
            yield from _wrapped(title, [_slot(s) for s in slots], "  ")
    yield from _wrapped("  returns: ", [f"%{s}" for s in plan.outputs], " ")


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _slot(slot: Slot) -> str:
    place = "" if slot.offset is None else f"@{slot.offset}"
    dims = None if slot.kind is SlotKind.SCALAR else slot.shape
    return f"%{slot.index}:{_type(slot.dtype, dims)}{place}"


def _type(dtype: DType, shape: Shape | None = None) -> str:
    name = _SHORT.get(dtype.name, dtype.name.rstrip("_"))
    return name if shape is None else f"{name}[{','.join(map(str, shape))}]"


def _wrapped(title: str, items: Sequence[str], between: str, width: int = _WIDTH) -> Iterator[str]:
    """Put items one after another; a new line starts under the first item."""
    line, empty = title, True
    for item in items:
        if not empty and len(line) + len(between) + len(item) > width:
            yield line
            line, empty = " " * len(title), True
        line, empty = line + item if empty else line + between + item, False
    yield line


def _steps(plan: Plan) -> Iterator[str]:
    waits = {b.before: b for b in plan.barriers}
    names = max((len(_name(s)) for s in plan.steps), default=0)
    writes = max((len(_result(plan, s)) for s in plan.steps), default=0)
    number = max(3, len(str(len(plan.steps))))
    for i, step in enumerate(plan.steps):
        title = f"{i:>{number}}  {_name(step):<{names}}  {_result(plan, step):<{writes}} ← "
        operands = [_operand(plan, o) for o in step.operands]
        if len(step.calls) == 1:
            operands[-1] += _attributes(step.calls[0])
        first, *more = _wrapped(title, operands, " · ", _WAIT_COLUMN)
        yield _waiting(first, waits.get(i))
        yield from more
        if len(step.calls) > 1:
            yield from _calls(plan, step, " " * (number + 2))


def _name(step: Step) -> str:
    rest = f" +{len(step.calls) - 1}" if len(step.calls) > 1 else ""
    return step.calls[0].op + rest


def _result(plan: Plan, step: Step) -> str:
    last = step.calls[-1]
    mark = "!" if plan.slots[step.write].kind is SlotKind.STATE else ""
    return f"%{step.write}{mark}:{_type(last.dtype, last.shape)}"


def _waiting(line: str, barrier: Barrier | None) -> str:
    if barrier is None:
        return line
    kinds = "+".join(sorted(h.name for h in barrier.hazards))
    return f"{line:<{_WAIT_COLUMN}} | {kinds} after {barrier.after}"


def _operand(plan: Plan, operand: Operand) -> str:
    slot, view = plan.slots[operand.slot], operand.view
    if slot.kind is SlotKind.SCALAR:
        return _slot(slot)
    how = _how(slot, view)
    mark, note = ("ᵀ", "") if how == "transposed" else ("", f" ({how})" if how else "")
    return f"%{slot.index}{mark}:{_type(slot.dtype, view.shape)}{note}"


def _how(slot: Slot, view: View) -> str:
    """Name what a view does to its slot; nothing for all of it in order."""
    same_size = size(view.shape) == size(slot.shape) and view.offset == 0
    if same_size and view.is_contiguous:
        return ""
    if any(d > 1 and s == 0 for d, s in zip(view.shape, view.strides, strict=True)):
        return "broadcast"
    rank = len(view.shape)
    by_stride = sorted(range(rank), key=lambda a: view.strides[a], reverse=True)
    if not same_size or not view.permute(by_stride).is_contiguous:
        return "sliced"
    swapped = view.permute((*range(rank - 2), rank - 1, rank - 2))
    return "transposed" if swapped.is_contiguous else "permuted"


def _attributes(call: Call) -> str:
    if call.attrs is None:
        return ""
    pairs = ((f.name, getattr(call.attrs, f.name)) for f in dataclasses.fields(call.attrs))
    return " {" + ", ".join(f"{name}={_value(value)}" for name, value in pairs) + "}"


def _value(value: Any) -> str:
    return str(value).replace(", ", ",").replace("vkml.", "")


def _calls(plan: Plan, step: Step, indent: str) -> Iterator[str]:
    """Print the calls of a fused step; results inside it are called a, b, c, …"""
    for k, call in enumerate(step.calls):
        args = ", ".join(f"%{step.operands[a].slot}" if a >= 0 else _letter(~a) for a in call.args)
        name = _letter(k) if k < len(step.calls) - 1 else f"%{step.write}"
        yield f"{indent}{name:>4}:{_type(call.dtype)} = {call.op}({args}){_attributes(call)}"


def _letter(k: int) -> str:
    return chr(ord("a") + k % 26) + (str(k // 26) if k >= 26 else "")

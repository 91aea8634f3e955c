"""Fused element-wise steps: one dispatch, results in between stay in registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from vkml_backend_vulkan.dispatch import PUSH_BYTES, Dispatch, Limits, Lowered, Pointer
from vkml_backend_vulkan.link.program import FAR, Access, Apply, Program, Store
from vkml_backend_vulkan.lower.layout import Strides, collapse, grid, local_size, pack, token
from vkml_backend_vulkan.lower.split import ending, needed
from vkml_backend_vulkan.shaders.table import TOKENS
from vkml_backend_vulkan.shaders.tables import elementwise
from vkml_backend_vulkan.shaders.tables.library import LONG, call_name
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Call, Operand, Slot, Step
from vkml_core.shapes import MAX_RANK, Shape, View, size

QUAD: Final = 4
MANY: Final = 1 << 22
"""Elements from which an invocation may have eight of them: enough are left for any device."""
MOST_LONG: Final = 4
"""Long functions in one kernel: drivers put the code of each where it is called."""
_WORDS: Final = PUSH_BYTES // 4


@dataclass(frozen=True, slots=True)
class Work:
    """What one kernel does: calls in order, and the slots that results of some are written to."""

    calls: tuple[Call, ...]
    operands: tuple[Operand, ...]
    writes: tuple[tuple[int, int], ...]
    """(slot, number of the call)."""

    @staticmethod
    def of(step: Step) -> Work:
        """Give the work of a step."""
        return Work(step.calls, step.operands, ((step.write, len(step.calls) - 1),))

    def then(self, new: Work) -> Work:
        """Give this work and what comes after it, which takes its results as they are."""
        made = dict(self.writes)
        outer = [o for o in new.operands if o.slot not in made]
        operands = {o: i for i, o in enumerate(dict.fromkeys((*self.operands, *outer)))}
        shift = len(self.calls)

        def argument(a: int) -> int:
            if a < 0:
                return a - shift
            operand = new.operands[a]
            return ~made[operand.slot] if operand.slot in made else operands[operand]

        calls = tuple(replace(c, args=tuple(map(argument, c.args))) for c in new.calls)
        writes = tuple((slot, k + shift) for slot, k in new.writes)
        return Work((*self.calls, *calls), tuple(operands), (*self.writes, *writes))

    @property
    def shape(self) -> Shape:
        """The shape of every result."""
        return self.calls[-1].shape


def lower(work: Work, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Lower element-wise calls that cannot fail and fit the push constants."""
    count, local = size(work.shape), local_size(limits)
    if not count:
        return Lowered(())
    program, pointers, numbers = describe(work, slots)
    twice = is_double(work.calls)
    groups = grid(-(-count // (QUAD * (1 + twice))), local, limits)
    given = *(Pointer(slot, 0) for slot, _ in work.writes), *pointers
    constants = local, limits.hardware, int(twice)
    return Lowered((Dispatch(program.name, groups, given, pack(count, *numbers), constants),))


def is_double(calls: Sequence[Call]) -> bool:
    """Whether an invocation has eight elements: of functions that read a table, where enough
    invocations are left.
    """
    return size(calls[-1].shape) >= MANY and any(c.op in elementwise.TABULATED for c in calls)


def fits(work: Work, slots: Sequence[Slot]) -> bool:
    """Whether a kernel's push constants have room for all that it needs, and drivers compile it
    in good time.
    """
    long = sum(call.op in LONG for call in work.calls)
    return long <= MOST_LONG and describe(work, slots)[0].words <= _WORDS


def cut(step: Step, slots: Sequence[Slot]) -> int | None:
    """Give the call after which a step has to be cut, or None: heads and what can fail are alone,
    and what is fused fits the push constants.
    """
    last = len(step.calls) - 1
    if not last:
        return None
    alone = next((k for k, call in enumerate(step.calls) if is_alone(call)), None)
    if alone is None:
        return None if fits(Work.of(step), slots) else _largest(step, slots)
    return alone if alone < last else max(~a for a in step.calls[alone].args if a < 0)


def is_alone(call: Call) -> bool:
    """Whether a call has a kernel of its own."""
    kind = REGISTRY[call.op].kind
    return kind is not Kind.ELEMENTWISE or elementwise.fails(call.op, TOKENS[call.dtype])


def _largest(step: Step, slots: Sequence[Slot]) -> int:
    """Give the call that is computed from most calls while these can be one kernel."""
    fitting = {
        k: len(needed(step, k))
        for k in range(len(step.calls) - 1)
        if fits(Work.of(ending(step, k, step.write)), slots)
    }
    return max(fitting, key=lambda k: fitting[k])


def describe(work: Work, slots: Sequence[Slot]) -> tuple[Program, list[Pointer], list[int]]:
    """Give the program, the pointers to the operands and the numbers after the count."""
    axes = _axes(work)
    found = [_access(o, token(slots, o), axes) for o in work.operands]
    program = Program(
        tuple(Store(TOKENS[work.calls[k].dtype], k) for _, k in work.writes),
        tuple(access for access, _, _ in found),
        tuple(apply(work, slots, c) for c in work.calls),
        len(axes.extents),
        len(axes.different),
    )
    pointers = [
        Pointer(o.slot, base * slots[o.slot].dtype.itemsize)
        for o, (_, base, _) in zip(work.operands, found, strict=True)
    ]
    far = [offset for access, _, offset in found if access.offset == FAR]
    strides = (n for each in axes.different for n in each)
    return program, pointers, [*axes.extents[1:], *strides, *far]


@dataclass(frozen=True, slots=True)
class _Axes:
    """The axes that strided operands need, outermost first, and their strides along them."""

    extents: Shape = ()
    different: tuple[Strides, ...] = ()
    of: dict[Operand, int] = field(default_factory=dict)
    """Which of the strides an operand has."""


def _axes(work: Work) -> _Axes:
    strided = [o for o in work.operands if not (o.view.is_contiguous or _is_one(o.view))]
    if not strided:
        return _Axes()
    extents, strides = collapse(work.shape, *(o.view.strides for o in strided))
    rank = sum(d != 1 for d in extents)
    used = [s[MAX_RANK - rank :] for s in strides]
    different = tuple(dict.fromkeys(used))
    of = {o: different.index(s) for o, s in zip(strided, used, strict=True)}
    return _Axes(extents[MAX_RANK - rank :], different, of)


def _is_one(view: View) -> bool:
    return not any(s for d, s in zip(view.shape, view.strides, strict=True) if d != 1)


def _access(operand: Operand, name: str, axes: _Axes) -> tuple[Access, int, int]:
    """Give how an operand is read, the element that its pointer points to, and the offset of the
    first element from there. The pointer is to a multiple of four elements.
    """
    view, which = operand.view, axes.of.get(operand)
    base = view.span()[0] // QUAD * QUAD
    offset = view.offset - base
    text = str(offset) if offset < QUAD else FAR
    if which is not None:
        kind = _strided_kind(axes.extents[-1], axes.different[which], offset)
        return Access(name, kind, text, which), base, offset
    if _is_one(view):
        return Access(name, "n", text), base, offset
    return Access(name, "r" if offset else "c", text), base, offset


def _strided_kind(extent: int, strides: Strides, offset: int) -> str:
    if extent % QUAD:
        return "s"
    if not strides[-1]:
        return "b"
    aligned = not offset % QUAD and not any(s % QUAD for s in strides[:-1])
    return "v" if strides[-1] == 1 and aligned else "s"


def apply(work: Work, slots: Sequence[Slot], call: Call) -> Apply:
    """Give the function of the library that does a call."""
    last = call.args[-1]
    source = token(slots, work.operands[last]) if last >= 0 else TOKENS[work.calls[~last].dtype]
    return Apply(call_name(call.op, source, TOKENS[call.dtype]), call.args)

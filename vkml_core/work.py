"""What a step of a plan has to do: the bytes that it moves and its floating-point operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Call, Operand, Slot, SlotKind, Step
from vkml_core.shapes import Shape, size


@dataclass(frozen=True, slots=True)
class Work:
    """What one run of a step has to do at least; `ops` are its calls in order."""

    ops: tuple[str, ...]
    shapes: tuple[Shape, ...]
    """Of what it reads, and last of what it writes."""
    dtype: str
    """Of what it writes."""
    read: int
    """Bytes, each element that a view reaches counted once."""
    written: int
    """Bytes."""
    flops: int
    """A multiply-add counts for two, an element-wise function for one."""


@dataclass(frozen=True, slots=True)
class Done:
    """What one kernel does for several steps of a plan: calls as in a step, and all that it
    writes.
    """

    calls: tuple[Call, ...]
    operands: tuple[Operand, ...]
    writes: tuple[int, ...]

    @staticmethod
    def of(step: Step) -> Done:
        """Give what a step says."""
        return Done(step.calls, step.operands, (step.write,))


def work_of(what: Step | Done, slots: Sequence[Slot]) -> Work:
    """Work out what a step, or a kernel for several, has to do.

    >>> import vkml
    >>> a = vkml.ones(4, 8)
    >>> plan = vkml.plan(a.realize() @ vkml.ones(8, 2).realize())
    >>> work_of(plan.steps[-1], plan.slots).flops  # 4 × 2 results of 8 multiply-adds
    128
    """
    done = Done.of(what) if isinstance(what, Step) else what
    return Work(
        ops=tuple(call.op for call in done.calls),
        shapes=(*(o.view.shape for o in done.operands), done.calls[-1].shape),
        dtype=slots[done.writes[-1]].dtype.name,
        read=sum(_read(o, slots[o.slot]) for o in done.operands),
        written=sum(slots[write].nbytes for write in done.writes),
        flops=sum(_flops(call, _arguments(call, done)) for call in done.calls),
    )


def _read(operand: Operand, slot: Slot) -> int:
    """Count bytes: a stride of 0 reads the same element again."""
    if slot.kind is SlotKind.SCALAR:
        return slot.dtype.itemsize
    view = operand.view
    if 0 in view.shape:
        return 0
    extents = (n for n, s in zip(view.shape, view.strides, strict=True) if s)
    return min(math.prod(extents) * slot.dtype.itemsize, slot.nbytes)


def _arguments(call: Call, done: Done) -> list[Shape]:
    """Give the shapes that a call takes."""
    return [done.operands[a].view.shape if a >= 0 else done.calls[~a].shape for a in call.args]


def _flops(call: Call, arguments: list[Shape]) -> int:
    count = _OPS.get(call.op) or _KINDS.get(REGISTRY[call.op].kind)
    return count(call, arguments) if count else 0


def _one_each(call: Call, arguments: list[Shape]) -> int:
    return size(call.shape)


def _one_each_taken(call: Call, arguments: list[Shape]) -> int:
    return size(arguments[0])


def _matmul(call: Call, arguments: list[Shape]) -> int:
    return 2 * size(call.shape) * arguments[0][-1]


def _convolution(weight: Shape, result: Shape) -> int:
    """Count for (N, O, Y, X) results of a weight (O, C/groups, kernel height, kernel width)."""
    return 2 * size(result) * size(weight[1:])


_Count = Callable[[Call, list[Shape]], int]
_KINDS: Final[dict[Kind, _Count]] = {
    Kind.ELEMENTWISE: _one_each,
    Kind.REDUCE: _one_each_taken,
    Kind.SCAN: _one_each,
}
_OPS: Final[dict[str, _Count]] = {
    "matmul": _matmul,
    "conv2d": lambda call, args: _convolution(args[1], call.shape),
    "conv2d_input_grad": lambda call, args: _convolution(args[1], args[0]),
    "conv2d_weight_grad": lambda call, args: _convolution(call.shape, args[1]),
    "avg_pool2d": lambda call, args: size(call.shape) * size(_kernel(call.attrs)),
    "max_pool2d": lambda call, args: size(call.shape) * size(_kernel(call.attrs)),
    "col2im": _one_each_taken,
    "scatter_add": lambda call, args: size(args[0]),
    **dict.fromkeys(("argsort", "cast", "where"), lambda call, args: 0),
}
"""Operations whose work does not follow from their kind; kinds that are not listed move data."""


def _kernel(attrs: Any) -> Shape:
    kernel: Shape = attrs.kernel
    return kernel

"""Pass that runs element-wise chains, and epilogues of heavier operations, in one step.

Bits do not change: each call keeps its own rounding, a float16 call narrows its own result. A
fused step has at most one head (a reduction, matmul, convolution or pooling), which is its first
call and takes operands only; all other calls are element-wise and of the shape that is written.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from vkml_core.dtypes import int32, int64
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Call, Plan, SlotKind, Step
from vkml_core.schedule.clean import compact
from vkml_core.schedule.reshape import reshaped, seen, transposed
from vkml_core.shapes import View, size

HEADS: Final = frozenset({Kind.REDUCE, Kind.MATMUL, Kind.CONV, Kind.POOL})
FAILING: Final = frozenset({"floor_divide", "remainder", "pow"})
"""Element-wise operations that find divisions by zero, for integers."""
CHEAP: Final = frozenset(
    {
        *("neg", "abs", "sign", "relu", "add", "sub", "mul", "div", "maximum", "minimum"),
        *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "isnan"),
        *("isinf", "bitwise_not", "bitwise_and", "bitwise_or", "bitwise_xor", "where", "cast"),
    }
)
"""Element-wise operations of a few instructions."""
MOST_AGAIN: Final = 3
"""Calls that are computed again where they are read, expanded or by several."""
_INTEGERS: Final = (int32, int64)


def group(plan: Plan, *, operands: int = 8, calls: int = 32) -> Plan:
    """Merge a step into the one step that reads its result, if that is element-wise and reads all
    of it in order, or in another order what is cheap to compute there; up to so many operands and
    calls in a step.

    A step moves down to its reader, so STATE slots must not be written before the last step that
    reads them.
    """
    grouping = _Grouping(plan, operands, calls)
    for j in range(len(plan.steps)):
        grouping.absorb_producers(j)
    return compact(replace(plan, steps=tuple(s for s in grouping.steps if s is not None)))


def has_head(step: Step) -> bool:
    """Whether the first call is a head: a heavy operation that element-wise calls may follow."""
    return REGISTRY[step.calls[0].op].kind in HEADS


def can_fail(step: Step) -> bool:
    """Whether a call of a step can find an error. Such a step stays where it is, so that of
    several errors the first in program order is told, and a step has one such call at most.
    """
    return any(c.op in FAILING and c.dtype in _INTEGERS for c in step.calls)


def _ends_elementwise(step: Step) -> bool:
    return REGISTRY[step.calls[-1].op].kind is Kind.ELEMENTWISE


class _Grouping:
    """Steps being merged: a merged step leaves None in its old place."""

    def __init__(self, plan: Plan, operands: int, calls: int) -> None:
        self._limits = operands, calls
        self._kinds = [slot.kind for slot in plan.slots]
        self._readers = Counter(s for step in plan.steps for s in _reads(step))
        self._writer = {step.write: i for i, step in enumerate(plan.steps)}
        self.steps: list[Step | None] = list(plan.steps)

    def absorb_producers(self, j: int) -> None:
        """Merge into step `j` what it reads, then what that reads, and so on."""
        consumer = self.steps[j]
        if consumer is None or not _ends_elementwise(consumer):
            return
        queue = sorted(_reads(consumer))
        for slot in queue:
            merged = self._merged(slot, consumer)
            if merged is None:
                continue
            i = self._writer[slot]
            producer = self.steps[i]
            assert producer is not None
            reads = _reads(producer)
            self._readers.subtract(reads & _reads(consumer))
            self.steps[i], self.steps[j], consumer = None, merged, merged
            queue.extend(sorted(reads))

    def _merged(self, slot: int, consumer: Step) -> Step | None:
        """Give the merged step, or None if the producer of `slot` has to stay."""
        if self._kinds[slot] is not SlotKind.TEMP or self._readers[slot] != 1:
            return None
        producer = self.steps[self._writer[slot]]
        operands, calls = self._limits
        if producer is None or len(producer.calls) + len(consumer.calls) > calls:
            return None
        merged = joined(producer, consumer)
        return merged if merged is not None and len(merged.operands) <= operands else None


def _reads(step: Step) -> set[int]:
    return {o.slot for o in step.operands}


def joined(producer: Step, consumer: Step) -> Step | None:
    """Give one step of two, or None: if the consumer needs just element i of the producer for its
    own element i, in whatever shape; or if what it sees is cheap to compute where it is read.
    """
    slot = producer.write
    of_slot = {i for i, o in enumerate(consumer.operands) if o.slot == slot}
    views = {consumer.operands[i].view for i in of_slot}
    if can_fail(producer) or len(views) != 1 or not (has_head(producer) or _is_plain(producer)):
        return None
    if has_head(consumer) and not of_slot.isdisjoint(consumer.calls[0].args):
        return None
    fitted = _in_one_shape(producer, consumer, *views)
    return None if fitted is None else merge(*fitted)


def _in_one_shape(producer: Step, consumer: Step, view: View) -> tuple[Step, Step] | None:
    """Give both in the shape of one of them; the head's is fixed."""
    shape = producer.calls[-1].shape
    in_order = view.is_contiguous and not view.offset and size(view.shape) == size(shape)
    if in_order and view.shape == shape:
        return None if has_head(producer) and has_head(consumer) else (producer, consumer)
    if has_head(producer):
        turned = None if in_order else transposed(producer, view)
        if turned is not None:
            return None if has_head(consumer) else (turned, consumer)
        changed = reshaped(consumer, shape) if in_order and not has_head(consumer) else None
        return None if changed is None else (producer, changed)
    if not in_order and not _is_cheap(producer):
        return None
    changed = seen(producer, view)
    return None if changed is None else (changed, consumer)


def _is_plain(step: Step) -> bool:
    """Whether all calls are element-wise."""
    return REGISTRY[step.calls[0].op].kind is Kind.ELEMENTWISE


def _is_cheap(step: Step) -> bool:
    """Whether computing it again costs less than storing and reading it."""
    return len(step.calls) <= MOST_AGAIN and all(c.op in CHEAP for c in step.calls)


def merge(producer: Step, consumer: Step) -> Step:
    """Make one step of two. A head and its operands come first; then the producer's calls, so
    that they come before the consumer's, which use them.
    """
    lead = int(has_head(consumer))
    inserted, result = len(producer.calls), producer.write
    both = (consumer, producer) if lead else (producer, consumer)
    outer = (o for step in both for o in step.operands if o.slot != result)
    operands = {o: i for i, o in enumerate(dict.fromkeys(outer))}

    def of_producer(a: int) -> int:
        return a - lead if a < 0 else operands[producer.operands[a]]

    def of_consumer(a: int) -> int:
        if a < 0:
            return a if ~a < lead else a - inserted
        operand = consumer.operands[a]
        return -(lead + inserted) if operand.slot == result else operands[operand]

    theirs = producer.calls if not lead else _with_args(producer, of_producer)
    ours = _with_args(consumer, of_consumer)
    return Step((*ours[:lead], *theirs, *ours[lead:]), tuple(operands), consumer.write)


def _with_args(step: Step, argument: Callable[[int], int]) -> tuple[Call, ...]:
    return tuple(replace(c, args=tuple(map(argument, c.args))) for c in step.calls)

"""What steps are to rows: arrays of `rows` times `n` elements, of one for each row, or neither."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vkml_backend_vulkan.lower.fused import is_alone
from vkml_backend_vulkan.shaders.table import TOKENS
from vkml_backend_vulkan.shaders.tables.rows import GATHERED, INDICES, REDUCED, SCATTERED
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Call, Operand, Slot, SlotKind, Step
from vkml_core.shapes import Shape, View, size


@dataclass(frozen=True, slots=True)
class Form:
    """So many rows of `n` elements."""

    rows: int
    n: int

    def has(self, shape: Shape) -> bool:
        """Whether an array has an element, or a value, for each row."""
        return size(shape) in (self.rows, self.rows * self.n)

    def is_full(self, shape: Shape) -> bool:
        """Whether an array has all elements of all rows."""
        return size(shape) == self.rows * self.n

    def steps(self, view: View) -> tuple[int, int] | None:
        """Give the elements of memory from a row to the next and from one of its elements to the
        next, or None where that is no number, is negative, or elements do not lie together.
        """
        full = self.is_full(view.shape)
        seen = view.reshape((self.rows, self.n) if full else (self.rows,))
        if seen is None or seen.strides[0] < 0:
            return None
        across, along = seen.strides if full else (seen.strides[0], 0)
        return (across, along) if along in (0, 1) else None

    def reads_value(self, view: View, made: Shape) -> bool:
        """Whether a view of a result sees its elements in the places of the result that it makes:
        all in order, or a row's value for each of its elements.
        """
        along = self.is_full(made)
        across = 0 if self.rows == 1 else (self.n if along else 1)
        if along and not self.is_full(view.shape):
            return False
        return not view.offset and self.steps(view) == (across, int(along))


def form_of(step: Step) -> Form | None:
    """Give the rows that a step reduces, or None where it is no reduction of rows."""
    call = step.calls[0]
    if REGISTRY[call.op].kind is not Kind.REDUCE or not is_reduction(step, call):
        return None
    shape = step.operands[call.args[0]].view.shape
    rows = size(call.shape)
    form = Form(rows, size(shape) // rows if rows else 0)
    return form if form.n > 1 and is_last(shape, call.attrs.axes) else None


def is_last(shape: Shape, axes: Sequence[int]) -> bool:
    """Whether the axes are the last ones, but for those of size 1."""
    first = next((i for i in axes if shape[i] != 1), len(shape))
    return all(d == 1 or i in axes for i, d in enumerate(shape) if i >= first)


def is_reduction(step: Step, call: Call) -> bool:
    """Whether a call is one that a kernel for rows can do."""
    return TOKENS[call.dtype] in REDUCED.get(call.op, ())


def has_full(step: Step, form: Form) -> bool:
    """Whether a step touches elements of rows, and not only values of whole rows."""
    shapes = [*(o.view.shape for o in step.operands), *(c.shape for c in step.calls)]
    return any(map(form.is_full, shapes))


def fits(step: Step, form: Form, slots: Sequence[Slot]) -> bool:
    """Whether every call and operand of a step has the form."""
    return all(_call_fits(step, call, form, slots) for call in step.calls) and all(
        form.has(o.view.shape) and _operand_fits(o, form, slots) for o in step.operands
    )


def _operand_fits(operand: Operand, form: Form, slots: Sequence[Slot]) -> bool:
    is_number = slots[operand.slot].kind is SlotKind.SCALAR
    return is_number or form.steps(operand.view) is not None


def _call_fits(step: Step, call: Call, form: Form, slots: Sequence[Slot]) -> bool:
    kind = REGISTRY[call.op].kind
    if kind is Kind.ELEMENTWISE:
        return form.has(call.shape) and not is_alone(call)
    if call.op in ("gather", "scatter_add"):
        return _index_fits(step, call, form, slots)
    return kind is Kind.REDUCE and form_of(step) == form


def _index_fits(step: Step, call: Call, form: Form, slots: Sequence[Slot]) -> bool:
    """Whether a call picks from, or adds to zeros of, each row at one index."""
    x, index = (step.operands[a] for a in call.args)
    picks = call.op == "gather"
    full = x.view.shape if picks else call.shape
    return (
        TOKENS[call.dtype] in (GATHERED if picks else SCATTERED)
        and TOKENS[slots[index.slot].dtype] in INDICES
        and form.is_full(full)
        and full[call.attrs.axis] == form.n
        and is_last(full, (call.attrs.axis,))
        and size(index.view.shape) == form.rows
    )

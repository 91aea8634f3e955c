"""Steps in another shape: of the same elements, or as a view of their result sees them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from vkml_core.plan import Operand, Step
from vkml_core.shapes import Shape, View, size

Change = Callable[[View], View | None]


def reshaped(step: Step, shape: Shape) -> Step | None:
    """Give an element-wise step that computes the same elements in another shape, or None where
    strides cannot express what it reads.
    """
    return _changed(step, shape, lambda view: view.reshape(shape))


def seen(step: Step, view: View) -> Step | None:
    """Give an element-wise step that computes what `view` sees of its result, or None where
    strides cannot express what it reads. Expanded elements are computed again.
    """
    if view.is_contiguous and not view.offset and size(view.shape) == size(step.calls[-1].shape):
        return reshaped(step, view.shape)
    return _changed(step, view.shape, lambda read: _composed(read, view))


def transposed(step: Step, view: View) -> Step | None:
    """Give the matrix product that `view` sees, if it sees all of this one transposed:
    (a b)ᵀ = bᵀ aᵀ, whose products are the same and added in the same order.
    """
    call = step.calls[0]
    if len(step.calls) > 1 or call.op != "matmul" or len(call.shape) < 2:
        return None
    turn = (*range(len(call.shape) - 2), len(call.shape) - 1, len(call.shape) - 2)
    if view != View.of(call.shape).permute(turn):
        return None
    a, b = (step.operands[i] for i in call.args)
    operands = tuple(Operand(o.slot, o.view.permute(turn)) for o in (b, a))
    return Step((replace(call, args=(0, 1), shape=view.shape),), operands, step.write)


def _composed(read: View, view: View) -> View | None:
    """Give the elements of `read` that a view of the elements in its order sees."""
    if is_one(read):
        return View(view.shape, (0,) * len(view.shape), read.offset)
    if read.is_contiguous:
        return View(view.shape, view.strides, read.offset + view.offset)
    return None


def is_one(view: View) -> bool:
    """Whether a view sees one element, however often."""
    return not any(s for d, s in zip(view.shape, view.strides, strict=True) if d != 1)


def _changed(step: Step, shape: Shape, change: Change) -> Step | None:
    """Read everything otherwise; operands that become equal are merged."""
    operands: dict[Operand, int] = {}
    places: list[int] = []
    for operand in step.operands:
        view = change(operand.view)
        if view is None:
            return None
        places.append(operands.setdefault(Operand(operand.slot, view), len(operands)))
    calls = tuple(
        replace(c, shape=shape, args=tuple(places[a] if a >= 0 else a for a in c.args))
        for c in step.calls
    )
    return Step(calls, tuple(operands), step.write)

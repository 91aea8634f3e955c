"""Reductions: passes over chunks of 1024, and one dispatch for the index of an extreme."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vkml_backend_vulkan.dispatch import Dispatch, Limits, Lower, Lowered, Pointer
from vkml_backend_vulkan.lower import reduce_quads
from vkml_backend_vulkan.lower.choice import decision
from vkml_backend_vulkan.lower.elementwise import launch
from vkml_backend_vulkan.lower.layout import (
    collapse,
    grid,
    local_size,
    only_call,
    operands,
    pack,
    padded,
    token,
)
from vkml_backend_vulkan.lower.reduce_quads import CHUNK, FEW, LANES
from vkml_backend_vulkan.shaders.tables.reduce import REDUCTIONS, WORDS
from vkml_core.decisions import Decision
from vkml_core.plan import Slot, Step
from vkml_core.shapes import View, reduce_shape, size

ALONE, CHUNKS = "one invocation a result", "32 invocations a chunk"
COLUMNS = "32 invocations a chunk, results side by side"
QUADS = "8 invocations a chunk, four lanes each"
"""Ways to share the work of a reduction."""
COLUMNS_LOCAL: Final = 256
"""Invocations where results lie side by side: eight of them, 32 bytes, to a workgroup."""
MANY: Final = 4096
"""Rows from which on an invocation each fills a large device."""
WORD_BYTES: Final = {"f32": 4, "i32": 4, "i64": 8}


def lower(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Lower a reduction."""
    return _LOWER[only_call(step).op](step, slots, limits)


def split(view: View, axes: Sequence[int]) -> tuple[View, View]:
    """Give the view of the kept axes and that of the reduced ones (without offset)."""
    kept = reduce_shape(tuple(range(len(view.shape))), axes)
    outer, inner = (
        View(tuple(view.shape[a] for a in which), tuple(view.strides[a] for a in which))
        for which in (kept, axes)
    )
    return View(outer.shape, outer.strides, view.offset), inner


def _reduce(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Reduce to chunk results until each row has one, then narrow it where it is no word."""
    call, (source,) = only_call(step), operands(step)
    name = token(slots, source)
    word = WORDS[name]
    outer, inner = split(source.view, call.attrs.axes)
    rows = size(outer.shape)
    if not rows:
        return Lowered(())
    why = _why(call.op, name, outer, inner, limits)
    dispatches: list[Dispatch] = []
    scratch: list[int] = []
    at, result = Pointer(source.slot, 0), Pointer(step.write, 0)
    given, left = name, 0
    while left != 1:
        left = _left(size(inner.shape), first=not dispatches)
        last = left == 1 and word == name
        to = result if last else Pointer(~len(scratch), 0)
        if not last:
            scratch.append(padded(rows * left * WORD_BYTES[word]))
        dispatches.append(_pass(call.op, given, to, at, outer, inner, left, limits))
        at, given = to, word
        outer, inner = View((rows,), (left,)), View((left,), (1,))
    if word != name:
        view = View((rows,), (1,))
        dispatches += launch(f"cast.{word}.{name}", (rows,), result, [(at, view)], limits)
    return Lowered(tuple(dispatches), tuple(scratch), why)


def _left(n: int, *, first: bool) -> int:
    """Give the results that a pass over rows of `n` leaves of each."""
    return 1 if not first and reduce_quads.takes_rest(n) else max(-(-n // CHUNK), 1)


def _pass(
    op: str,
    given: str,
    result: Pointer,
    source: Pointer,
    outer: View,
    inner: View,
    left: int,
    limits: Limits,
) -> Dispatch:
    """Give the dispatch of one pass, of a kernel that reads in the way in which elements lie."""
    module, rows, n = f"reduce.{op}.{given}", size(outer.shape), size(inner.shape)
    if left == 1 and n > CHUNK:
        return reduce_quads.rest(module, rows, n, result, source, limits)
    quads = reduce_quads.quads(op, given, outer, inner)
    if quads is not None:
        return reduce_quads.by_quads(module, quads, n, result, source, limits)
    return _chunks(module, result, source, outer, inner, left, limits)


def _chunks(
    module: str,
    result: Pointer,
    source: Pointer,
    outer: View,
    inner: View,
    chunks: int,
    limits: Limits,
) -> Dispatch:
    """Give the dispatch that reduces every chunk of every row: rows of up to LANES elements by an
    invocation each.
    """
    outer_extents, (outer_strides,) = collapse(outer.shape, outer.strides)
    inner_extents, (inner_strides,) = collapse(inner.shape, inner.strides)
    rows, n = size(outer.shape), size(inner.shape)
    way = _way(outer, inner)
    is_flat = rows * n > FEW and size(inner_extents[:3]) == 1
    local = min(COLUMNS_LOCAL, limits.invocations) if way == COLUMNS else local_size(limits)
    return Dispatch(
        module,
        grid(rows * chunks * (1 if way == ALONE else LANES), local, limits),
        (result, source),
        pack(
            *(*outer_extents, *outer_strides, *inner_extents, *inner_strides),
            *(outer.offset, n, chunks, rows * chunks),
        ),
        (local, 0, int(is_flat), int(way == COLUMNS), int(way == ALONE)),
    )


def _way(outer: View, inner: View) -> str:
    """Choose how invocations share the work."""
    if size(inner.shape) <= LANES and size(outer.shape) >= MANY:
        return ALONE
    if size(outer.shape) * size(inner.shape) <= FEW or size(inner.shape) <= LANES:
        return CHUNKS
    _, (across,) = collapse(outer.shape, outer.strides)
    _, (along,) = collapse(inner.shape, inner.strides)
    return COLUMNS if 0 < abs(across[3]) < abs(along[3]) else CHUNKS


def _why(op: str, name: str, outer: View, inner: View, limits: Limits) -> Decision:
    """Tell how the first pass, which reads the operand, was chosen."""
    way, n = _way(outer, inner), size(inner.shape)
    if reduce_quads.quads(op, name, outer, inner) is not None:
        way = QUADS
    because = {
        ALONE: f"rows of {n}, at most {LANES}, and {size(outer.shape)} of them",
        COLUMNS: f"rows of {n}, and neighbours in memory belong to neighbouring results",
        CHUNKS: f"rows of {n} that lie together in memory, are all there is or few",
        QUADS: f"rows of {n} that lie side by side in memory, at multiples of four",
    }[way]
    instead = tuple(w for w in (ALONE, CHUNKS, COLUMNS, QUADS) if w != way)
    return decision(op, way, instead, because, limits, invocations=1 if way == ALONE else LANES)


def _arg_extreme(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    call, (source,) = only_call(step), operands(step)
    outer, inner = split(source.view, (call.attrs.axis,))
    extents, (strides,) = collapse(outer.shape, outer.strides)
    rows, local = size(outer.shape), local_size(limits)
    if not rows:
        return Lowered(())
    dispatch = Dispatch(
        f"reduce.{call.op}.{token(slots, source)}",
        grid(rows * LANES, local, limits),
        (Pointer(step.write, 0), Pointer(source.slot, 0)),
        pack(*extents, *strides, outer.offset, *inner.shape, *inner.strides, rows),
        (local,),
    )
    return Lowered((dispatch,))


_LOWER: Final[dict[str, Lower]] = {
    **dict.fromkeys(REDUCTIONS, _reduce),
    "argmax": _arg_extreme,
    "argmin": _arg_extreme,
}
OPS: Final = frozenset(_LOWER)

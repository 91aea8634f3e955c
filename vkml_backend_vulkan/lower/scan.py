"""Scans: cumsum in chunks of 1024; argsort is lowered in sort.py."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vkml_backend_vulkan.dispatch import Dispatch, Limits, Lower, Lowered, Pointer
from vkml_backend_vulkan.lower import sort
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
from vkml_backend_vulkan.lower.reduce import WORD_BYTES, split
from vkml_backend_vulkan.lower.reduce_quads import CHUNK
from vkml_backend_vulkan.shaders.tables.reduce import WORDS
from vkml_core.plan import Slot, Step
from vkml_core.shapes import View, size

CHUNKS, TOTALS, ADD = 0, 1, 2
"""The phases of the template: sum chunks, sum their totals, add what came before a chunk."""


def lower(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Lower a scan."""
    return _LOWER[only_call(step).op](step, slots, limits)


def _cumsum(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    call, (source,) = only_call(step), operands(step)
    name = token(slots, source)
    word = WORDS[name]
    count, axis = size(call.shape), call.attrs.axis
    if not count:
        return Lowered(())
    n = call.shape[axis]
    rows, chunks = count // n, -(-n // CHUNK)
    final = Pointer(step.write, 0)
    result = final if word == name else Pointer(~1, 0)
    dispatches = _phases(name, source.view, Pointer(source.slot, 0), result, axis, limits)
    scratch = [padded(rows * chunks * WORD_BYTES[word])]
    if word != name:
        scratch.append(padded(count * WORD_BYTES[word]))
        view = View.of((count,))
        dispatches += launch(f"cast.{word}.{name}", (count,), final, [(result, view)], limits)
    return Lowered(dispatches, tuple(scratch))


def _phases(
    name: str, view: View, source: Pointer, result: Pointer, axis: int, limits: Limits
) -> tuple[Dispatch, ...]:
    """Give the dispatches of the phases; the first one is all where a row is one chunk."""
    outer, inner = split(view, (axis,))
    to_outer, to_inner = split(View.of(view.shape), (axis,))
    extents, (strides, to_strides) = collapse(outer.shape, outer.strides, to_outer.strides)
    n, rows, local = view.shape[axis], size(outer.shape), local_size(limits)
    chunks = -(-n // CHUNK)
    push = pack(
        *(*extents, *strides, *to_strides),
        *(view.offset, *inner.strides, *to_inner.strides, n, chunks, rows),
    )
    invocations = {CHUNKS: rows * chunks, TOTALS: rows, ADD: rows * n}
    return tuple(
        Dispatch(
            f"scan.cumsum.{name}",
            grid(invocations[phase], local, limits),
            (result, source, Pointer(~0, 0)),
            push,
            (local, 0, phase),
        )
        for phase in (CHUNKS, TOTALS, ADD)
        if phase == CHUNKS or chunks > 1
    )


_LOWER: Final[dict[str, Lower]] = {"cumsum": _cumsum, "argsort": sort.lower}
OPS: Final = frozenset(_LOWER)

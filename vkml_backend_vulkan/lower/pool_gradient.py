"""The gradient of max pooling's input: how each pixel knows whether it is the largest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from vkml_backend_vulkan.dispatch import Dispatch, Limits, Lowered, Pointer
from vkml_backend_vulkan.lower.choice import decision
from vkml_backend_vulkan.lower.conv import known, window
from vkml_backend_vulkan.lower.launch import Read, each_output, read
from vkml_backend_vulkan.lower.layout import only_call, pack, padded
from vkml_backend_vulkan.lower.pool_quads import QUADS, apart_in_pairs, lies_flat, quads
from vkml_backend_vulkan.shaders.table import TOKENS
from vkml_core.plan import Call, Slot, Step
from vkml_core.shapes import size

WINNERS: Final = "the largest of windows first"
"""The way besides QUADS. (A pixel that looks at all of its window is slower: 0.41 ms instead of
0.24 for 3 × 3 on an H200, and no faster for 2 × 2.)"""


def lower(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Lower a max_pool2d_input_grad."""
    call, g, x = only_call(step), read(step, 0, slots), read(step, 1, slots)
    if not size(call.shape):
        return Lowered(())
    way = _way(call, g, x)
    lowered = _LOWER[way](step, g, x, limits)
    taps = size(call.attrs.kernel)
    instead = tuple(w for w in _LOWER if w != way)
    why = decision(call.op, way, instead, f"windows of {taps}, {_BECAUSE[way]}", limits)
    return Lowered(lowered.dispatches, lowered.scratch, why)


_BECAUSE: Final = {
    QUADS: "two pixels wide, side by side without gaps in memory",
    WINNERS: "of another form",
}


def _way(call: Call, g: Read, x: Read) -> str:
    attrs, float32 = call.attrs, TOKENS[call.dtype] == "f32"
    if float32 and apart_in_pairs(attrs, x.shape, 2) and lies_flat(x, 4) and lies_flat(g, 2):
        return QUADS
    return WINNERS


def _by_quads(step: Step, g: Read, x: Read, limits: Limits) -> Lowered:
    out = Pointer(step.write, 0)
    return quads(only_call(step), x.shape, 2, (g, x), out, limits)


def _by_winners(step: Step, g: Read, x: Read, limits: Limits) -> Lowered:
    """Find the places of the largest elements, as words; a pixel then looks at its windows'."""
    call, token, windows = only_call(step), TOKENS[only_call(step).dtype], size(g.shape)
    found, geometry = Pointer(~0, 0), _geometry(call, x)
    push = pack(*geometry, *x.without(), windows, *x.shape[:2])
    name, constants = f"pool.max_pool2d_winners.{token}", known(geometry, windows)
    find = each_output(name, windows, (x.pointer, found), push, limits, "i32", constants)
    after = _pixels(step, g, x, found, limits)
    return Lowered((*find, *after), (padded(4 * windows),))


def _geometry(call: Call, x: Read) -> tuple[int, ...]:
    attrs: Any = call.attrs
    return window(attrs, x.shape[2:], attrs.kernel)


def _pixels(step: Step, g: Read, x: Read, winners: Pointer, limits: Limits) -> tuple[Dispatch, ...]:
    """Launch an invocation a pixel."""
    call, count = only_call(step), size(x.shape)
    geometry, token = _geometry(call, x), TOKENS[call.dtype]
    push = pack(*geometry, *g.without(), count, x.shape[1])
    pointers = (g.pointer, winners, Pointer(step.write, 0))
    name, constants = f"pool.{call.op}.{token}", known(geometry, count)
    return each_output(name, count, pointers, push, limits, token, constants)


_LOWER: Final = {QUADS: _by_quads, WINNERS: _by_winners}

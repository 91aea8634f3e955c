"""Element-wise steps: one dispatch, four consecutive results to an invocation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vkml_backend_vulkan.dispatch import ERRORS, Dispatch, Limits, Lowered, Pointer
from vkml_backend_vulkan.lower.layout import (
    Strides,
    collapse,
    grid,
    local_size,
    only_call,
    operands,
    pack,
    spread,
    token,
)
from vkml_backend_vulkan.shaders.table import TOKENS
from vkml_backend_vulkan.shaders.tables import elementwise
from vkml_core.plan import Slot, Step
from vkml_core.shapes import Shape, View, size

STRIDED, CONTIGUOUS, ONE = 0, 1, 2
"""How an operand is read: values of two bits each of the template's constant ACCESS."""
QUAD: Final = 4
PATCH_SIDE: Final = 16
"""As in the template."""
FEW: Final = 256
"""Elements up to which operands are read one by one, however they lie: there is nothing to gain,
and so one variant of a module does for all layouts."""
LAST: Final = 3
"""The last axis; as PATCH it says that there is no patch."""
OPS: Final = elementwise.OPS | {"cast"}
FEW_RESULTS: Final = 4
"""As PATCH it says that there are at most FEW."""
Source = tuple[Pointer, View]


def module_name(op: str, step: Step, slots: Sequence[Slot]) -> str:
    """Name the module of a step: by the last operand, and by the result too for a cast."""
    source = token(slots, operands(step)[-1])
    if op != "cast":
        return f"elementwise.{op}.{source}"
    return f"cast.{source}.{TOKENS[only_call(step).dtype]}"


def lower(step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
    """Lower an element-wise step."""
    call = only_call(step)
    name = module_name(call.op, step, slots)
    sources = [(Pointer(o.slot, 0), o.view) for o in operands(step)]
    fails = elementwise.fails(call.op, TOKENS[call.dtype])
    return Lowered(launch(name, call.shape, Pointer(step.write, 0), sources, limits, fails=fails))


def launch(
    module: str,
    shape: Shape,
    result: Pointer,
    sources: Sequence[Source],
    limits: Limits,
    *,
    fails: bool = False,
) -> tuple[Dispatch, ...]:
    """Give the dispatch of a module of the element-wise template; none for an empty result."""
    count, local = size(shape), local_size(limits)
    if not count:
        return ()
    extents, strides = collapse(shape, *(view.strides for _, view in sources))
    offsets = [view.offset for _, view in sources]
    access = 0
    for k, (s, offset) in enumerate(zip(strides, offsets, strict=True)):
        access |= (_access(extents, s, offset) if count > FEW else STRIDED) << 2 * k
    errors = (Pointer(ERRORS, 0),) if fails else ()
    patch = _patch(extents, strides) if count > FEW else FEW_RESULTS
    return (
        Dispatch(
            module,
            _grid(count, extents, patch, local, limits),
            (result, *(pointer for pointer, _ in sources), *errors),
            pack(count, *extents, *offsets, *(s for each in strides for s in each)),
            (local, limits.hardware, access, patch),
        ),
    )


def _patch(extents: Shape, strides: Sequence[Strides]) -> int:
    """Give the axis along which the first transposed operand is read side by side, or LAST."""
    if extents[LAST] % QUAD:
        return LAST
    for each in strides:
        sides = [k for k in range(LAST) if each[k] == 1 and extents[k] >= PATCH_SIDE]
        if sides and each[LAST] not in (0, 1):
            return sides[-1]
    return LAST


def _grid(
    count: int, extents: Shape, patch: int, local: int, limits: Limits
) -> tuple[int, int, int]:
    """Give a workgroup to so many quads, or to a patch of PATCH_SIDE rows of quads."""
    if patch in (LAST, FEW_RESULTS):
        return grid(-(-count // QUAD), local, limits)
    quads = -(-extents[LAST] // (QUAD * (local // PATCH_SIDE)))
    across = -(-extents[patch] // PATCH_SIDE)
    others = count // extents[LAST] // extents[patch]
    return spread(quads * across * others, limits)


def _access(extents: Shape, strides: Strides, offset: int) -> int:
    if not any(strides):
        return ONE
    whole = View(extents, strides).is_contiguous
    return CONTIGUOUS if whole and offset % QUAD == 0 else STRIDED

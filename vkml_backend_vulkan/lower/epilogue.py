"""Heads that go on with element-wise calls: the last dispatch of the head takes them along."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from vkml_backend_vulkan.dispatch import (
    PUSH_BYTES,
    SCALAR_BYTES,
    Dispatch,
    Limits,
    Lowered,
    Pointer,
)
from vkml_backend_vulkan.link.epilogue import Epilogue, Source, Store
from vkml_backend_vulkan.lower.conv import WINDOW
from vkml_backend_vulkan.lower.fused import QUAD, Work, apply
from vkml_backend_vulkan.lower.layout import collapse, token
from vkml_backend_vulkan.shaders.table import TOKENS
from vkml_backend_vulkan.shaders.tables.conv import TILED
from vkml_backend_vulkan.shaders.tables.library import LONG
from vkml_backend_vulkan.shaders.tables.pool import QUADS
from vkml_backend_vulkan.shaders.tables.reduce import REDUCTIONS
from vkml_core.dtypes import float32
from vkml_core.plan import Operand, Slot, SlotKind
from vkml_core.shapes import size

EXTRA: Final = 4
"""Addresses besides the head's own, as in hook.glsl."""
MOST_LONG: Final = 1
POOLS: Final = ("max_pool2d", "avg_pool2d", "max_pool2d_input_grad")
HEADS: Final = frozenset({"matmul", *TILED, *POOLS, *REDUCTIONS})
"""Operations whose kernels have frames."""
_WHOLE_WORDS: Final = frozenset({"f32", "i32", "i64"})
"""Dtypes of which an invocation may store one element."""
_KNOWN: Final = ("conv.", "pool.max_pool2d_input_grad.")
"""Modules whose frames have the window in their constants, unless they have four results a time."""
_OTHERS: Final = 6
"""Constants that come before a window's in the frames of convolutions."""


def takes(work: Work, slots: Sequence[Slot]) -> bool:
    """Whether a head's kernel has room for what follows it."""
    head = work.calls[0]
    return (
        head.op in HEADS
        and head.dtype is float32
        and all(TOKENS[work.calls[k].dtype] in _WHOLE_WORDS for _, k in work.writes)
        and sum(call.op in LONG for call in work.calls) <= MOST_LONG
        and _describe(work, slots, "") is not None
    )


def lower(work: Work, slots: Sequence[Slot], head: Lowered, limits: Limits) -> Lowered:
    """Put what follows a head into its last dispatch. `head` writes slot `work.writes[0]`."""
    *before, last = head.dispatches
    described = _describe(work, slots, last.module)
    assert described is not None
    epilogue, addresses = described
    out = Pointer(work.writes[0][0], 0)
    given = [out if p == out else p for p in last.pointers]
    extra = [*addresses[1:], *[out] * EXTRA][:EXTRA]
    framed = _framed(last)
    local, _, *others = *framed.constants, *(0,) * (2 - len(framed.constants))
    constants = local, limits.hardware, *others
    pointers = *given, *extra
    made = replace(framed, module=epilogue.name, pointers=pointers, constants=constants)
    assert 8 * len(made.pointers) + len(made.push) <= PUSH_BYTES
    return replace(head, dispatches=(*before, made))


def _framed(dispatch: Dispatch) -> Dispatch:
    """Give the dispatch of a module's frame: some have the window in their constants."""
    if not dispatch.module.startswith(_KNOWN) or dispatch.module.endswith(QUADS):
        return dispatch
    window = memoryview(dispatch.push[: 4 * WINDOW]).cast("I")
    constants = (*dispatch.constants, *(0,) * _OTHERS)[:_OTHERS]
    more = dispatch.constants[_OTHERS + WINDOW :]
    return replace(
        dispatch, push=dispatch.push[4 * WINDOW :], constants=(*constants, *window, *more)
    )


@dataclass(slots=True)
class Addresses:
    """Numbers of addresses; what is at one place has one number."""

    found: list[Pointer] = field(default_factory=list)

    def number(self, pointer: Pointer) -> int:
        """Give the number of an address."""
        if pointer not in self.found:
            self.found.append(pointer)
        return self.found.index(pointer)


def _describe(
    work: Work, slots: Sequence[Slot], head: str
) -> tuple[Epilogue, list[Pointer]] | None:
    """Give the epilogue and its addresses, or None where it cannot be one. Operands of the head
    are its own matter.
    """
    addresses = Addresses()
    stores = tuple(
        Store(TOKENS[work.calls[k].dtype], k, addresses.number(Pointer(slot, 0)))
        for slot, k in work.writes
    )
    used = sorted({a for call in work.calls[1:] for a in call.args if a >= 0})
    given = [work.operands[a] for a in used]
    numbers = [s.index for s in slots if s.kind is SlotKind.SCALAR]
    mine = [o.slot for o in given if o.slot in numbers]
    operands = [
        number(o, slots, addresses, numbers[numbers.index(min(mine)) :])
        if o.slot in mine
        else _source(o, slots, addresses)
        for o in given
    ]
    sources = tuple(o for o in operands if o is not None)
    if len(sources) < len(used) or len(addresses.found) > 1 + EXTRA:
        return None
    places = {a: i for i, a in enumerate(used)}
    calls = tuple(
        replace(made, args=tuple(places.get(a, a) for a in made.args))
        for made in (apply(work, slots, call) for call in work.calls[1:])
    )
    return Epilogue(head, stores, sources, calls), addresses.found


def number(
    operand: Operand,
    slots: Sequence[Slot],
    addresses: Addresses,
    numbers: Sequence[int],
) -> Source:
    """Describe a host number: those of one kernel share the address of the first of `numbers`."""
    apart = numbers.index(operand.slot) * SCALAR_BYTES
    offset = apart // slots[operand.slot].dtype.itemsize
    address = addresses.number(Pointer(numbers[0], 0))
    return Source(token(slots, operand), offset, address, (1, 1, 0))


def _source(operand: Operand, slots: Sequence[Slot], addresses: Addresses) -> Source | None:
    """Describe an operand, unless it is strided along two axes that do not become one."""
    view, slot = operand.view, slots[operand.slot]
    base = view.offset // QUAD * QUAD
    offset = view.offset - base
    axis = None
    if not (view.is_contiguous and size(view.shape) > 1):
        found = list(_axes(operand))
        if len(found) > 1 or any(stride < 0 for *_, stride in found):
            return None
        axis = found[0] if found else (1, 1, 0)
    address = addresses.number(Pointer(operand.slot, base * slot.dtype.itemsize))
    return Source(token(slots, operand), offset, address, axis)


def _axes(operand: Operand) -> Iterator[tuple[int, int, int]]:
    """Give (elements of a step along it, extent, stride) of each axis with strides."""
    extents, (strides,) = collapse(operand.view.shape, operand.view.strides)
    inner = 1
    for extent, stride in zip(extents[::-1], strides[::-1], strict=True):
        if stride:
            yield inner, extent, stride
        inner *= extent

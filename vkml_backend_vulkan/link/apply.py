"""Applies a function of the library to quads: one by one, or two at a time where it is long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from vkml_backend_vulkan.link.linker import Body
from vkml_backend_vulkan.link.program import Apply
from vkml_backend_vulkan.shaders.tables.library import LONG

Quads = tuple[int, ...]
"""Ids of quads: those of an operand or a result that an invocation has."""


def apply_quads(body: Body, call: Apply, operands: Sequence[Quads]) -> Quads:
    """Give the quads of the result. All operands have as many: one, or an even number."""
    given = list(zip(*operands, strict=True))
    if len(given) == 1 or call.op not in LONG:
        return tuple(body.call(f"quad_{call.function}", *quads) for quads in given)
    pairs = zip(given[::2], given[1::2], strict=True)
    return tuple(quad for one, other in pairs for quad in _two(body, call.function, one, other))


def _two(body: Body, function: str, one: Quads, other: Quads) -> Iterator[int]:
    mixed = (quad for pair in zip(one, other, strict=True) for quad in pair)
    both = body.call(f"two_{function}", *mixed)
    yield body.call("one_of", both)
    yield body.call("other_of", both)

"""Element-wise calls as chains: which buffer holds which value, and how the work is shared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vkml_core.dtypes import DType, float16, float32
from vkml_core.plan import Call
from vkml_core.shapes import View, size

from vkml_backend_numba.kernels.chain import MOST_VALUES
from vkml_backend_numba.kernels.elementwise import FUNCTIONS
from vkml_backend_numba.kernels.library import LOOPS
from vkml_backend_numba.lower.builder import Builder
from vkml_backend_numba.lower.operands import DTYPE, LETTER, Place

CHEAP: Final = 32768
DEAR: Final = 2048
"""Elements of a task: enough work for a thread to be worth waking."""


def loop(call: Call, takes: Sequence[DType]) -> int | None:
    """Give the number of the loop that computes a call, or None."""
    letters = "".join(LETTER[t] for t in takes)
    name = f"cast.{LETTER[call.dtype]}" if call.op == "cast" else call.op
    return LOOPS.get((name, letters))


def argument_types(calls: Sequence[Call], places: Sequence[Place], call: Call) -> list[DType]:
    """Give the dtypes that a call takes."""
    return [places[a].dtype if a >= 0 else calls[~a].dtype for a in call.args]


def can_run(calls: Sequence[Call], places: Sequence[Place]) -> bool:
    """Whether loops compute all of it."""
    known = all(loop(c, argument_types(calls, places, c)) is not None for c in calls)
    return known and len(calls) + len(places) <= MOST_VALUES


def describe(
    builder: Builder, calls: Sequence[Call], places: Sequence[Place], slot: int, dtype: DType
) -> int:
    """Write a chain down and give where it begins. Buffers of values that no later call reads are
    used again.
    """
    values = len(places)
    result = values + len(calls) - 1 if calls else 0
    last = {result: len(calls)}
    for c, call in enumerate(calls):
        for a in call.args:
            v = a if a >= 0 else values + ~a
            last[v] = max(last.get(v, -1), c)
    free: list[int] = []
    most, held = values, dict(enumerate(range(values)))
    rows: list[int] = []
    for c, call in enumerate(calls):
        made = free.pop() if free else most
        most = max(most, made + 1)
        held[values + c] = made
        args = [a if a >= 0 else values + ~a for a in call.args]
        found = loop(call, argument_types(calls, places, call))
        assert found is not None
        builder.loops.append(found)
        rows += [found, made, *(args + [args[0]] * 2)[:3], int(call.dtype is float16)]
        free += {held[a] for a in args if last[a] == c and a >= values}
    builder.needs((MOST_VALUES + most * 1024) * 8)
    head = [values, len(calls), result, slot, DTYPE[dtype]]
    return builder.describe([*head, *(w for p in places for w in p.words()), *rows])


def emit(
    builder: Builder, calls: Sequence[Call], places: Sequence[Place], slot: int, dtype: DType
) -> None:
    """Add a chain that is a substep of its own."""
    at = describe(builder, calls, places, slot, dtype)
    dear = any(c.op in FUNCTIONS for c in calls)
    builder.run_chain(at, size(places[0].view.shape), DEAR if dear else CHEAP)


def in_order(builder: Builder, place: Place, dtype: DType) -> Place:
    """Give a place with the same elements in order, as `dtype`: the same, or a copy."""
    if place.in_order and place.dtype is dtype:
        return place
    shape = place.view.shape
    slot = builder.temporary(size(shape) * dtype.itemsize)
    calls = () if place.dtype is dtype else (_cast(place, dtype),)
    emit(builder, calls, (place,), slot, dtype)
    return Place(slot, View.of(shape), dtype)


def copied(builder: Builder, place: Place) -> Place:
    """Give a copy in order, at the beginning of memory of its own."""
    slot = builder.temporary(size(place.view.shape) * place.dtype.itemsize)
    emit(builder, (), (place,), slot, place.dtype)
    return Place(slot, View.of(place.view.shape), place.dtype)


def floats(builder: Builder, places: Sequence[Place], dtype: DType = float32) -> list[Place]:
    """Give operands in order, at the beginning of their slots."""
    return [at_start(builder, in_order(builder, place, dtype)) for place in places]


def at_start(builder: Builder, place: Place) -> Place:
    """Give a place at the beginning of its slot."""
    return copied(builder, place) if place.view.offset else place


def _cast(place: Place, dtype: DType) -> Call:
    return Call("cast", None, (0,), place.view.shape, dtype)

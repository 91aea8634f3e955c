"""Shapes and attributes of the rows that move elements: views, copies, cat and pad."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from vkml_conformance.operands import Operand, Shape
from vkml_conformance.sample import BASE, EMPTY, RANKS, Sample, made
from vkml_core.ops.spec import OpSpec


def views(spec: OpSpec) -> Iterator[Sample]:
    """Give the samples of a view."""
    for shape, attrs in _VIEWS[spec.name]:
        yield Sample(made(spec, **attrs), (Operand(shape),), full=shape == BASE)


_VIEWS: Final[dict[str, tuple[tuple[Shape, dict[str, Any]], ...]]] = {
    "reshape": (
        (BASE, {"shape": (15, 14)}),
        ((1, 6, 1), {"shape": (2, 3)}),
        ((1,), {"shape": ()}),
        ((2, 0), {"shape": (0, 5)}),
    ),
    "permute": (
        (BASE, {"axes": (2, 0, 3, 1)}),
        ((2, 3, 5), {"axes": (1, 2, 0)}),
        ((3, 5), {"axes": (1, 0)}),
        ((2, 0, 3), {"axes": (2, 1, 0)}),
    ),
    "expand": (
        (BASE, {"shape": BASE}),
        ((3, 1, 5), {"shape": (2, 3, 4, 5)}),
        ((1, 7), {"shape": (33, 7)}),
        ((), {"shape": (5, 1)}),
        ((0, 1), {"shape": (0, 3)}),
    ),
    "slice": (
        (BASE, {"start": (2, 0, 1, 6), "length": (3, 3, 1, 4), "step": (-1, 2, 1, -2)}),
        ((9,), {"start": (1,), "length": (4,), "step": (2,)}),
        ((4, 5), {"start": (0, 2), "length": (0, 3), "step": (1, 1)}),
        ((2, 0), {"start": (1, 0), "length": (1, 0), "step": (1, 1)}),
    ),
    "detach": ((BASE, {}), ((), {}), ((0, 2), {})),
}


def moves(spec: OpSpec) -> Iterator[Sample]:
    """Give the samples of a copy, of cat and of pad."""
    if spec.name == "contiguous":
        for shape in (BASE, *RANKS, *EMPTY):
            yield Sample(None, (Operand(shape),), full=shape == BASE)
    elif spec.name == "cat":
        yield from _cats(spec)
    else:
        for shape in (BASE, *RANKS, *EMPTY):
            pads = {
                side: tuple((k + a) % 3 for a in range(len(shape)))
                for k, side in enumerate(("low", "high", "interior"))
            }
            yield Sample(made(spec, **pads), (Operand(shape), Operand(())), full=shape == BASE)


def _cats(spec: OpSpec) -> Iterator[Sample]:
    for shape in (BASE, *RANKS[1:], (0, 3)):
        for axis in range(len(shape)):
            sizes = (shape[axis], 0, 1, shape[axis] + 4)
            parts = ((*shape[:axis], n, *shape[axis + 1 :]) for n in sizes)
            full = shape == BASE and axis in (1, 3)
            yield Sample(made(spec, axis=axis), tuple(map(Operand, parts)), full)
    yield Sample(made(spec, axis=0), (Operand((4, 2)),))

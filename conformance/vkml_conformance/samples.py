"""Shapes and attributes of rows, a maker for each kind: ranks, empty ones, edges of chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from vkml_conformance.operands import (
    INDEX_DTYPES,
    Operand,
    Role,
    Shape,
    condition,
    divisor,
    exponent,
    index,
    value,
)
from vkml_conformance.sample import BASE, EMPTY, LANES, RANKS, Sample, made
from vkml_conformance.views import moves, views
from vkml_conformance.windows import convolutions, large_convolutions, pools
from vkml_core.dtypes import DTYPES
from vkml_core.ops.elementwise import Cast
from vkml_core.ops.reduce import Axes
from vkml_core.ops.spec import Form, Kind, OpSpec

ROLES: Final[dict[str, tuple[Role, ...]]] = {
    "where": (condition, value, value),
    "floor_divide": (value, divisor),
    "remainder": (value, divisor),
    "pow": (value, exponent),
}
"""Roles of the operands where one of them is not simply a value."""


def _elementwise(spec: OpSpec) -> Iterator[Sample]:
    roles = ROLES.get(spec.name, (value,) * (spec.arity or 1))
    shapes = (BASE, *RANKS, *EMPTY, *((n,) for n in LANES))
    for attrs in [{"dtype": to} for to in DTYPES] if spec.attrs is Cast else [{}]:
        for shape in shapes:
            operands = tuple(Operand(shape, role) for role in roles)
            yield Sample(made(spec, **attrs), operands, full=shape == BASE)


def _axes(spec: OpSpec, *axes: int) -> Any:
    """Make the attributes of a row that takes axes, or one axis, or one and a direction."""
    if spec.attrs is Axes:
        return made(spec, axes=axes)
    more = {"descending": axes[0] % 2 == 1} if spec.name == "argsort" else {}
    return made(spec, axis=axes[0], **more)


DEEP: Final = {
    Form.SUM: (2 * 1024 + 1, 33 * 1024 + 1),
    Form.CUMSUM: (3 * 1024 + 1,),
}
"""Sizes with so many chunks that it shows in which order their sums are added."""


def _reduce(spec: OpSpec) -> Iterator[Sample]:
    some: list[tuple[int, ...]] = [(0,), (1,), (2,), (3,)]
    if spec.attrs is Axes:
        some += [(), (0, 2), (1, 3), (0, 1, 2, 3)]
    for axes in some:
        yield Sample(_axes(spec, *axes), (Operand(BASE),), full=axes in ((1,), (3,), (0, 2)))
    for shape in RANKS[1:]:
        for axis in range(len(shape)):
            yield Sample(_axes(spec, axis), (Operand(shape),))
    if spec.attrs is Axes:
        yield Sample(_axes(spec), (Operand(()),))
    for n in LANES:
        yield Sample(_axes(spec, 1), (Operand((2, n)),))
        yield Sample(_axes(spec, 0), (Operand((n, 2)),))
    for n in DEEP.get(spec.form, ()):
        yield Sample(_axes(spec, 1), (Operand((2, n)),))
        yield Sample(_axes(spec, 0), (Operand((n, 1)),))
    yield Sample(_axes(spec, 1), (Operand((0, 3)),))
    if spec.name in ("sum", "prod", "cumsum", "argsort"):
        yield Sample(_axes(spec, 1), (Operand((3, 0, 2)),))


LONG: Final = 70_001
"""An axis of which 16 bits do not tell the elements apart."""


def _indexing(spec: OpSpec) -> Iterator[Sample]:
    for dtype in INDEX_DTYPES:
        for axis in range(4):
            yield _indexed(spec, BASE, axis, 6, index(BASE[axis], dtype), full=axis in (0, 2))
        for n in (1, *LANES):
            yield _indexed(spec, (2, n), 1, n, index(n, dtype))
        yield _indexed(spec, (7,), 0, 4, index(7, dtype))
        yield _indexed(spec, (3, 5), 0, 0, index(1, dtype))
    yield _indexed(spec, (LONG,), 0, 40, index(LONG))


def _indexed(
    spec: OpSpec, shape: Shape, axis: int, count: int, role: Role, *, full: bool = False
) -> Sample:
    """Pick `count` of an axis, or add so many to an axis of that size."""
    picked = (*shape[:axis], count, *shape[axis + 1 :])
    if spec.name == "gather":
        return Sample(_axes(spec, axis), (Operand(shape), Operand(picked, role)), full)
    attrs = made(spec, axis=axis, size=shape[axis])
    return Sample(attrs, (Operand(picked), Operand(picked, role)), full)


CHUNKED: Final = (8, 4 * 512 + 1, 9)
"""m, k, n with so many chunks of k that it shows in which order they are added."""


def _matmul(spec: OpSpec) -> Iterator[Sample]:
    full = (3, 7, 5), (2, 3, 4, 6, 5)
    edges = ((2, k, 3) for k in (31, 32, 33, 511, 512, 513, 1023, 1024, 1025))
    some = ((0, 3, 2), (3, 0, 2), (3, 2, 0), (1, 1, 1), (65, 20, 66), (2, 4, 3, 5), *edges, CHUNKED)
    for *batch, m, k, n in (*full, *some):
        operands = Operand((*batch, m, k)), Operand((*batch, k, n))
        yield Sample(None, operands, full=(*batch, m, k, n) in full)


TILED: Final = ((40, 129, 41), (65, 514, 34))
"""m, k, n that are enough for tiles and no multiple of their sides, nor of four."""
VAST: Final = (1024, 33 * 16, 1024)
"""m, k, n that are enough for the largest tiles, to the last of which nothing is missing."""


def _tiled(spec: OpSpec) -> Iterator[Sample]:
    for m, k, n in (*TILED, VAST):
        yield Sample(None, (Operand((m, k)), Operand((k, n))), full=(m, k, n) != VAST)


def _generate(spec: OpSpec) -> Iterator[Sample]:
    numbers = Operand(()), Operand(())
    if spec.name == "arange":
        for length in (0, 1, 5, *LANES):
            yield Sample(made(spec, length=length), numbers, full=length == 5)
    else:
        for width in (1, 24, 31):
            for shape in (BASE, *RANKS, *EMPTY, (1025,)):
                yield Sample(made(spec, shape=shape, bits=width), numbers, full=shape == BASE)


def _leaves(spec: OpSpec) -> Iterator[Sample]:
    for shape in (BASE, *RANKS, *EMPTY):
        yield Sample(None, (Operand(shape),), full=shape == BASE)


def _assign(spec: OpSpec) -> Iterator[Sample]:
    for shape in (BASE, *RANKS, *EMPTY):
        yield Sample(None, (Operand(shape), Operand(shape)), full=shape == BASE)


def _windows(maker: Callable[[OpSpec], Iterator[tuple[Any, tuple[Operand, ...], bool]]]) -> Maker:
    return lambda spec: (Sample(*found) for found in maker(spec))


Maker = Callable[[OpSpec], Iterator[Sample]]
SAMPLES: Final[dict[Kind, Maker]] = {
    Kind.ELEMENTWISE: _elementwise,
    Kind.REDUCE: _reduce,
    Kind.SCAN: _reduce,
    Kind.VIEW: views,
    Kind.MOVE: moves,
    Kind.INDEX: _indexing,
    Kind.MATMUL: _matmul,
    Kind.CONV: _windows(convolutions),
    Kind.POOL: _windows(pools),
    Kind.GENERATE: _generate,
    Kind.LEAF: _leaves,
    Kind.ASSIGN: _assign,
}
"""A row of a kind that is here needs no further line; a new kind needs one."""
LARGE: Final[dict[Kind, Maker]] = {
    Kind.MATMUL: _tiled,
    Kind.CONV: _windows(large_convolutions),
}
"""Calls that are large enough for kernels which small ones never reach, and which read several
elements at a time: with numbers that tell what else has been read (`domains.LINE_STARTS`), the full
ones in every layout.
"""

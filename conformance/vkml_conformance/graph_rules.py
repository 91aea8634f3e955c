"""How random graphs call the rows of each kind."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

from vkml_conformance.cases import takes
from vkml_conformance.domains import RANGES, range_of
from vkml_conformance.growth import LARGEST, Growth, Value
from vkml_conformance.operands import Role, condition, divisor, exponent, value
from vkml_conformance.sample import Sample
from vkml_conformance.samples import ROLES, SAMPLES
from vkml_core.dtypes import ALL, DTYPES, float16
from vkml_core.errors import ShapeError
from vkml_core.ops.elementwise import Cast
from vkml_core.ops.reduce import Axes, Axis
from vkml_core.ops.spec import Form, Kind, OpSpec
from vkml_core.shapes import Shape, size

_HOT: Final = {True: 12, False: 60}
"""Heat that an operand may have where a row has no range; the first one for float16."""
_SUMMED: Final = {True: 4, False: 30}
"""The same for operands of which many are added or multiplied."""


def _fitted(g: Growth, spec: OpSpec, place: int, x: Value) -> Value:
    """Bring a float into the range in which a row is not yet trivial; one of eight stays."""
    if not x.floating or g.choose(8) == 0:
        return x
    half = x.dtype is float16
    within = range_of(spec.name, place)
    if within.positive and g.choose(8):
        x = g.call("abs", x)
    limit = (within.high // (1 + half)) if spec.name in RANGES else _HOT[half]
    if not x.tame and x.heat <= limit and g.choose(4):
        return x
    return g.calm(x, limit)


def _as_role(g: Growth, role: Role, x: Value) -> Value:
    """Keep integers from what is an error: a divisor of 0, a negative exponent."""
    if x.floating or role not in (divisor, exponent):
        return x
    if role is divisor:
        return g.call("bitwise_or", x, g.number(x, 1))
    return g.call("bitwise_and", x, g.number(x, 7))


def _elementwise(g: Growth, spec: OpSpec) -> Value:
    roles = ROLES.get(spec.name, (value,) * (spec.arity or 1))
    x = g.find(takes(spec))
    operands: list[Value] = []
    for place, role in enumerate(roles):
        first = not any(v.dtype is x.dtype for v in operands) or place == 0
        if role is condition:
            operands.append(g.condition(x.shape))
            continue
        found = x if first else g.partner(x)
        operands.append(_as_role(g, role, _fitted(g, spec, place, found)))
    attrs = spec.attrs(dtype=g.one_of(DTYPES)) if spec.attrs is Cast else None
    return g.apply(spec, operands, attrs)


def _summed(g: Growth, spec: OpSpec, x: Value) -> Value:
    """Keep one NaN from filling everything; one of sixteen may."""
    if spec.form is Form.SELECT or g.choose(16) == 0:
        return x
    return g.calm(x, 1 if spec.form is Form.PROD else _SUMMED[x.dtype is float16])


def _reduce(g: Growth, spec: OpSpec) -> Value:
    x = _summed(g, spec, g.find(spec.dtypes, range(1, 5)))
    if spec.attrs is Axes:
        axes = tuple(a for a in range(len(x.shape)) if g.choose(2))
        return g.apply(spec, [x], spec.attrs(axes=axes))
    axis: dict[str, Any] = {"axis": g.choose(len(x.shape))}
    if spec.attrs is not Axis:
        axis["descending"] = g.choose(2) == 1
    return g.call(spec.name, x, **axis)


def _factors(g: Growth, n: int) -> Shape:
    """Split a number of elements into a shape."""
    dims = []
    for _ in range(g.choose(4)):
        some = [k for k in (1, 2, 3, 4, 5, 7, 31, 32, 33, n) if n % k == 0] if n else [1, 2, 3]
        dims.append(g.one_of(some))
        n //= dims[-1]
    return (*dims, n)


def _slice(g: Growth, x: Value) -> dict[str, Shape]:
    start, length, step = [], [], []
    for d in x.shape:
        k = g.one_of((1, 1, 2, -1, -2))
        first = g.choose(d) if d else 0
        room = (first if k < 0 else d - 1 - first) // abs(k) + 1 if d else 0
        start.append(first)
        length.append(1 + g.choose(room) if room else 0)
        step.append(k)
    return {"start": tuple(start), "length": tuple(length), "step": tuple(step)}


def _permute(g: Growth, x: Value) -> dict[str, Shape]:
    left = list(range(len(x.shape)))
    return {"axes": tuple(left.pop(g.choose(len(left))) for _ in x.shape)}


def _expand(g: Growth, x: Value) -> dict[str, Shape]:
    lead = (1 + g.choose(3),) if len(x.shape) < 4 else ()
    return {"shape": (*lead, *(1 + g.choose(4) if d == 1 else d for d in x.shape))}


_VIEWS: Final[dict[str, Callable[[Growth, Value], dict[str, Shape]]]] = {
    "reshape": lambda g, x: {"shape": _factors(g, size(x.shape))},
    "permute": _permute,
    "expand": _expand,
    "slice": _slice,
}
"""Attributes of a view; one that is not here has none."""


def _view(g: Growth, spec: OpSpec) -> Value:
    x = g.find(ALL)
    attributes = _VIEWS[spec.name](g, x) if spec.name in _VIEWS else {}
    return g.call(spec.name, x, **attributes)


def _move(g: Growth, spec: OpSpec) -> Value:
    x = g.find(ALL, range(1, 5))
    if spec.attrs is None:
        return g.call(spec.name, x)
    if spec.attrs is Axis:
        others = [g.partner(x) for _ in range(g.choose(3))]
        return g.call(spec.name, x, *others, axis=g.choose(len(x.shape)))
    sides = {k: tuple(g.choose(3) for _ in x.shape) for k in ("low", "high", "interior")}
    fill = g.number(((), x.dtype), g.choose(3)) if g.choose(2) else g.shaped((), x.dtype)
    return g.call(spec.name, x, fill, **sides)


def _matmul(g: Growth, spec: OpSpec) -> Value:
    x = _summed(g, spec, g.find(spec.dtypes, range(2, 5)))
    *batch, _, k = x.shape
    how = g.choose(3)
    if how == 0:
        axes = (*range(len(batch)), len(batch) + 1, len(batch))
        y = g.call("permute", x, axes=axes)
        return g.apply(spec, [x, y] if g.choose(2) else [y, x], None)
    wide = 1 + g.choose(4)
    y = _summed(g, spec, g.shaped((*batch, k, wide), x.dtype))
    return g.apply(spec, [x, y], None)


def _indexed(g: Growth, spec: OpSpec) -> Value:
    """Index with integers that were computed: by sorting, or brought below the size."""
    x = g.find(spec.dtypes, range(1, 5))
    axis = g.choose(len(x.shape))
    if spec.form is not Form.SELECT:
        x = _summed(g, spec, x)
    limit = x.shape[axis] if spec.attrs is Axis else 1 + g.choose(9)
    if limit == 0:
        raise ShapeError(f"{spec.name}: {x.shape} has nothing to choose from")
    number = g.integer(g.partner(x))
    index = g.call("remainder", number, g.number(number, limit))
    more = {} if spec.attrs is Axis else {"size": limit}
    return g.call(spec.name, x, index, axis=axis, **more)


@cache
def _samples(spec: OpSpec) -> tuple[Sample, ...]:
    found = SAMPLES[spec.kind](spec)
    return tuple(s for s in found if all(size(shape) <= LARGEST for shape in s.shapes))


def _sampled(g: Growth, spec: OpSpec) -> Value:
    """Call a row as one of its samples does, with values of the graph where they fit."""
    sample, dtype = g.one_of(_samples(spec)), g.one_of(takes(spec))
    made = [g.shaped(o.shape, dtype, o.role) for o in sample.operands]
    operands = [_summed(g, spec, v) for v in made]
    return g.apply(spec, operands, sample.attrs)


def _index(g: Growth, spec: OpSpec) -> Value:
    return (_indexed if g.choose(2) else _sampled)(g, spec)


def _assign(g: Growth, spec: OpSpec) -> Value:
    x = g.find(ALL)
    return g.apply(spec, [x, g.partner(x)], None)


RULES: Final[dict[Kind, tuple[int, Callable[[Growth, OpSpec], Value]]]] = {
    Kind.ELEMENTWISE: (9, _elementwise),
    Kind.REDUCE: (3, _reduce),
    Kind.SCAN: (1, _reduce),
    Kind.VIEW: (4, _view),
    Kind.MOVE: (2, _move),
    Kind.INDEX: (2, _index),
    Kind.MATMUL: (2, _matmul),
    Kind.CONV: (2, _sampled),
    Kind.POOL: (2, _sampled),
    Kind.GENERATE: (1, _sampled),
    Kind.ASSIGN: (1, _assign),
}
"""How often the rows of a kind are called, and how. A leaf is made where one is needed."""

"""A graph that grows: its values so far, guesses of their sizes, and how operands are found.

Sizes are guessed with whole numbers alone and no value is looked at, so that the same choices give
the same graph on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import vkml
from vkml import Tensor
from vkml_conformance.choices import Choices
from vkml_conformance.domains import DOMAINS, Domain
from vkml_conformance.engine import ORACLE
from vkml_conformance.operands import Draw, Role, value
from vkml_conformance.sample import LANES
from vkml_core import graph
from vkml_core.dtypes import INTS, DType, Scalar, bool_, float16, float32, int32, int64
from vkml_core.errors import ShapeError
from vkml_core.graph import Node, make_attrs
from vkml_core.ops.spec import REGISTRY, OpSpec
from vkml_core.shapes import Shape, size

LARGEST: Final = 2000
"""Elements of a value, at most."""
DTYPE_DRAW: Final = (float32,) * 5 + (float16,) * 2 + (int32, int64, bool_)
_SMALL: Final[tuple[Shape, ...]] = ((5,), (3, 4), (2, 3, 4), (3, 5, 2, 7), (1, 6), (), (4, 1, 3))
SHAPES: Final[tuple[Shape, ...]] = (
    *(_SMALL * 4),
    *((n,) for n in LANES),
    *((n, 1) for n in LANES),
    (33, 31),
    (2, 513),
    (0,),
)
"""Shapes that a graph may begin with; those at edges of the contract are few."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class Value:
    """A value of the graph, and what is guessed of it."""

    node: Node
    heat: int
    """Binary logarithm of the largest magnitude, about."""
    tame: bool = True
    """Whether it probably has neither NaN nor infinity."""

    @property
    def shape(self) -> Shape:
        """The shape of the node."""
        return self.node.shape

    @property
    def dtype(self) -> DType:
        """The dtype of the node."""
        return self.node.dtype

    @property
    def floating(self) -> bool:
        """Whether it holds real numbers."""
        return self.node.dtype.is_floating_point


Guess = Callable[[OpSpec, Sequence[Value], Node], tuple[int, bool]]


class Growth:
    """The graph so far. `guess` tells heat and tameness of a result."""

    def __init__(self, choices: Choices, name: str, guess: Guess, gradient: bool) -> None:
        self._choices, self._name, self._guess = choices, name, guess
        self.gradient = gradient
        self.leaves: list[Tensor] = []
        self.values: list[Value] = []
        self.made = 0
        self.base = self.one_of(SHAPES)

    def choose(self, n: int) -> int:
        """Give a number from 0 to n − 1."""
        return self._choices.choose(n)

    def one_of(self, some: Sequence[_T]) -> _T:
        """Choose one of several."""
        return some[self.choose(len(some))]

    def call(self, op: str, *operands: Value, **attributes: Any) -> Value:
        """Record an operation. Raises ShapeError where it does not fit or grows too large."""
        spec = REGISTRY[op]
        return self.apply(spec, operands, make_attrs(spec, attributes))

    def apply(self, spec: OpSpec, operands: Sequence[Value], attrs: Any) -> Value:
        """Record an operation as `call` does, with its attribute object."""
        nodes = tuple(v.node for v in operands)
        shape, _ = spec.infer(nodes, attrs)
        if size(shape) > LARGEST:
            raise ShapeError(f"{spec.name}: {shape} has more than {LARGEST} elements")
        node = graph.apply(spec, nodes, attrs)
        heat, tame = self._guess(spec, operands, node)
        self.made += 1
        return self._kept(Value(node, heat, tame))

    def _kept(self, made: Value) -> Value:
        self.values.append(made)
        return made

    def number(self, like: Value | tuple[Shape, DType], number: Scalar) -> Value:
        """Make a `full` leaf of the shape and dtype of a value."""
        shape, dtype = (like.shape, like.dtype) if isinstance(like, Value) else like
        return Value(graph.full(shape, number, dtype, ORACLE), abs(int(number)).bit_length())

    def leaf(self, shape: Shape, dtype: DType, role: Role = value) -> Value:
        """Upload an array: two of three have the usual values, the others those of any domain."""
        domains = DOMAINS[dtype.category]
        domain = domains[0] if self.choose(3) else self.one_of(domains)
        draw = Draw(f"{self._name} {len(self.leaves)}", "", 0, shape, dtype, domain)
        floating = dtype.is_floating_point
        needs = self.gradient and floating and role is value
        tensor = vkml.tensor(role(draw), device=ORACLE, requires_grad=needs)
        self.leaves.append(tensor)
        tame = domain.name not in ("special", "infinite", "nan")
        return self._kept(Value(tensor.node, _leaf_heat(dtype, domain), tame))

    def find(self, dtypes: Collection[DType], ranks: Collection[int] = range(5)) -> Value:
        """Choose a value of one of the dtypes and ranks, rather a late one; or make a leaf."""
        fitting = [v for v in self.values if v.dtype in dtypes and len(v.shape) in ranks]
        if not fitting or self.choose(16) == 0:
            allowed = [t for t in DTYPE_DRAW if t in dtypes]
            shapes = [s for s in (self.base, *_SMALL) if len(s) in ranks]
            return self.leaf(self.one_of(shapes[:2]), self.one_of(allowed))
        return self.one_of(fitting[-6:] if self.choose(3) else fitting)

    def partner(self, x: Value) -> Value:
        """Find a value of the shape and dtype of another, or make one."""
        how = self.choose(6)
        like = [v for v in self.values if (v.shape, v.dtype) == (x.shape, x.dtype)]
        if how < 3 and like:
            return self.one_of(like)
        if how == 3:
            return self.number(x, self.one_of((0, 1, 2, 3)))
        if how == 4 and x.shape:
            kept = tuple(d if self.choose(2) else 1 for d in x.shape)
            return self.call("expand", self.shaped(kept, x.dtype), shape=x.shape)
        return self.shaped(x.shape, x.dtype)

    def shaped(self, shape: Shape, dtype: DType, role: Role = value) -> Value:
        """Find a value of a shape and dtype, cut one out of another value, or make a leaf."""
        if role is value and self.choose(2):
            fitting = [v for v in self.values if (v.shape, v.dtype) == (shape, dtype)]
            if fitting:
                return self.one_of(fitting)
            larger = [v for v in self.values if v.dtype is dtype and size(v.shape) >= size(shape)]
            if larger and size(shape):
                return self._cut(self.one_of(larger), shape)
        return self.leaf(shape, dtype, role)

    def _cut(self, x: Value, shape: Shape) -> Value:
        n = size(shape)
        if size(x.shape) != n:
            x = self.call("reshape", x, shape=(size(x.shape),))
            x = self.call("slice", x, start=(0,), length=(n,), step=(1,))
        return x if x.shape == shape else self.call("reshape", x, shape=shape)

    def condition(self, shape: Shape) -> Value:
        """Find bools of a shape, or compare two values."""
        like = [v for v in self.values if v.shape == shape and v.dtype is not bool_]
        if like and self.choose(2):
            x = self.one_of(like)
            return self.call("less", x, self.partner(x))
        return self.shaped(shape, bool_)

    def integer(self, x: Value) -> Value:
        """Give a value as integers."""
        return x if x.dtype in INTS else self.call("cast", x, dtype=self.one_of((int32, int64)))

    def calm(self, x: Value, limit: int) -> Value:
        """Make a float that is probably finite and not larger than 2^limit."""
        if not x.floating or (x.tame and x.heat <= limit):
            return x
        small = 12 if x.dtype is float32 else 6
        if not x.tame:
            small = min(small, limit)
            held = self.call("less", self.call("abs", x), self.number(x, 2.0**small))
            y = self.call("where", held, x, self.number(x, self.one_of((0.5, -1.5, 0.0))))
            x = self._cooled(y, small)
        if x.heat <= limit:
            return x
        if self.choose(2):
            return self.call(self.one_of(("tanh", "sin", "sigmoid")), x)
        factor = self.number(x, 2.0 ** (limit - x.heat))
        return self._cooled(self.call("mul", x, factor), limit)

    def _cooled(self, x: Value, heat: int) -> Value:
        """Take back what was guessed of the last value: its size is known."""
        self.values[-1] = Value(x.node, heat)
        return self.values[-1]


def _leaf_heat(dtype: DType, domain: Domain) -> int:
    usual = domain is DOMAINS[dtype.category][0]
    if not dtype.is_floating_point:
        return 4 if usual else 8 * dtype.itemsize - 1
    wide = domain.name in ("wide", "special")
    return (15 if wide else 6) if dtype is float16 else (127 if wide else 12)

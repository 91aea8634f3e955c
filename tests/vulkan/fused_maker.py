"""Random steps of element-wise calls over random views, fused and as single calls."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from tests.oracle.run import attributes
from tests.oracle.values import Array
from tests.vulkan.family import values
from vkml_backend_vulkan.lower import split
from vkml_backend_vulkan.shaders.table import TOKENS
from vkml_backend_vulkan.shaders.tables.elementwise import fails
from vkml_core.dtypes import DTYPES, DType, bool_, to_dtype
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Call, Operand, Plan, Slot, SlotKind, Step
from vkml_core.schedule.hazards import add_barriers
from vkml_core.schedule.memory import place
from vkml_core.shapes import Shape, View, contiguous_strides

SHAPES: Sequence[Shape] = ((), (1,), (5,), (1023,), (3, 8), (7, 5), (2, 3, 12), (2, 3, 4, 5))
SLOW = {"sin", "cos", "tan", "erf", "erfc", "pow", "log2", "log10", "log1p", "expm1"}


def random_view(dice: random.Random, shape: Shape) -> tuple[int, View]:
    """Elements of memory, and a view of them: in order or not, with an offset or not."""
    offset = dice.choice((0, 0, 4, 1, 7))
    strides = list(contiguous_strides(shape))
    kind = dice.choice(("order", "order", "one", "expanded", "reversed", "permuted", "spread"))
    if kind == "one":
        strides = [0] * len(shape)
    if kind == "expanded":
        strides = [s * dice.choice((0, 1)) for s in strides]
    if kind == "permuted" and shape:
        strides = list(contiguous_strides(shape[::-1]))[::-1]
    if kind in ("reversed", "spread"):
        strides = [s * (-1 if kind == "reversed" else 4) for s in strides]
    view = View(shape, tuple(strides), offset)
    low, _ = view.span()
    view = replace(view, offset=offset - min(low, 0))
    return view.span()[1] + dice.choice((0, 3)), view


class Maker:
    """A random step of element-wise calls, as a plan of one step and as one of single calls."""

    def __init__(self, seed: int, calls: int, *, slow: bool = False) -> None:
        self.dice = random.Random(seed)
        self.shape = self.dice.choice(SHAPES)
        self.seed, self.slow = seed, slow
        self.memory: list[Array] = []
        self.operands: list[Operand] = []
        self.calls: list[Call] = []
        while len(self.calls) < calls:
            self.calls.append(self._call())

    def _call(self) -> Call:
        ops = [
            n
            for n, s in REGISTRY.items()
            if s.kind is Kind.ELEMENTWISE and (self.slow or n not in SLOW)
        ]
        op = self.dice.choice(ops)
        dtype = self.dice.choice(sorted(REGISTRY[op].dtypes, key=str))
        if fails(op, TOKENS[dtype]):
            return self._call()
        other = self.dice.choice(DTYPES)
        wanted = (bool_, other, other) if op == "where" else (dtype,) * (REGISTRY[op].arity or 1)
        args = tuple(self._argument(d) for d in wanted)
        result = {"cast": other, "where": other}.get(op) or self._inferred(op, wanted)
        attrs = attributes("cast", dtype=other) if op == "cast" else None
        return Call(op, attrs, args, self.shape, result)

    def _inferred(self, op: str, wanted: tuple[DType, ...]) -> DType:
        nodes: Any = [SimpleNamespace(shape=self.shape, dtype=d) for d in wanted]
        return REGISTRY[op].infer(nodes, None)[1]

    def _argument(self, dtype: DType) -> int:
        """A result so far, if it can be, or an operand."""
        known = [~k for k, c in enumerate(self.calls) if c.dtype is dtype]
        if known and self.dice.random() < 0.8:
            return self.dice.choice(known)
        elements, view = random_view(self.dice, self.shape)
        name = f"{self.seed} {len(self.memory)}"
        self.memory.append(values(name, elements, dtype=dtype.numpy.type))
        self.operands.append(Operand(len(self.memory) - 1, view))
        return len(self.operands) - 1

    def plans(self) -> tuple[Plan, Plan]:
        """The fused plan and that of single calls; the last call is the result of both."""
        slots = [
            Slot(i, SlotKind.INPUT, m.shape, to_dtype(m.dtype)) for i, m in enumerate(self.memory)
        ]
        last, n = self.calls[-1], len(slots)
        out = Slot(n, SlotKind.OUTPUT, last.shape, last.dtype)
        whole = Step(tuple(self.calls), tuple(self.operands), n)
        whole = split.ending(whole, len(self.calls) - 1, n)
        inputs = tuple(range(n))
        one = Plan((*slots, out), (whole,), inputs, (), (n,))
        named = [*slots, out]
        steps = split.parts(whole, named, lambda s, _: 0 if len(s.calls) > 1 else None)
        many = Plan(tuple(named), tuple(steps), inputs, (), (n,))
        return one, add_barriers(place(many))

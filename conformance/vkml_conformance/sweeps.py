"""Sweeps: dense operands for every element-wise row that rounds, compared with the oracle."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from vkml import Tensor
from vkml_conformance import dense
from vkml_conformance.cases import takes
from vkml_conformance.check import Check
from vkml_conformance.dense import Ask, Operands
from vkml_conformance.engine import ORACLE, compute
from vkml_conformance.hard import HARD
from vkml_conformance.normal import unaffected
from vkml_conformance.sample import made
from vkml_conformance.values import Array
from vkml_core import graph
from vkml_core.dtypes import FLOATS, DType, bool_, float16
from vkml_core.ops.elementwise import Cast
from vkml_core.ops.spec import REGISTRY, Form, Kind, OpSpec

ROUNDING: Final = frozenset((Form.ROUNDED, Form.POW, Form.WRITTEN))
THOROUGH: Final = 16
"""How many times as many blocks a thorough run takes."""


@dataclass(frozen=True)
class Source:
    """Where operands come from, how many are in a block, and how many blocks there are."""

    name: str
    make: Callable[[Ask], Operands]
    count: int
    blocks: int = 1
    drawn: bool = True
    """Whether another block has other numbers."""


_EDGES: Final = Source("edges", dense.edges, 1 << 17, drawn=False)
ONE: Final = (
    Source("patterns", dense.patterns, 1 << 18),
    Source("usual", dense.usual, 1 << 18),
    Source("multiples", dense.multiples, 0, drawn=False),
    _EDGES,
)
"""For one float32."""
TWO: Final = (
    Source("patterns", dense.patterns, 1 << 18),
    Source("usual", dense.usual, 1 << 18),
    Source("near", dense.near, 1 << 18),
    _EDGES,
)
"""For pairs of floats."""
EVERY: Final = (Source("every", dense.every, 1 << 16, drawn=False),)
"""For one float16."""
WHOLE: Final = (Source("integers", dense.integers, 1 << 18),)
"""For an integer that is converted to a float."""
MIDDLES: Final = (Source("middles", dense.middles, 0, drawn=False),)
"""For a float32 that is converted to float16."""
MANY: Final = {"div": Source("many", dense.usual, 1 << 20, blocks=7)}
"""Rows that devices are known to get wrong once in 10^6 pairs."""


@dataclass(frozen=True)
class SweepSubject:
    """One block of operands of a row. Leaves: the operands; result: what the row gives."""

    spec: OpSpec
    dtype: DType
    attrs: Any
    source: Source
    block: int
    seed: int

    @property
    def results(self) -> tuple[str, ...]:
        """The one result."""
        return ("forward",)

    def leaves(self) -> list[Array]:
        """Give the operands, made anew: a list of sweeps holds no numbers."""
        name = f"{self.spec.name} {self.dtype.name} {self.source.name} {self.block} {self.seed}"
        return list(self.source.make(Ask(self.spec, self.dtype, self.source.count, name)))

    def record(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Record the row."""
        return [Tensor(graph.apply(self.spec, tuple(x.node for x in leaves), self.attrs))]

    def wanted(self) -> list[Array]:
        """Give what the oracle gives."""
        return compute(self.leaves(), self, ORACLE)

    def held(self, wanted: Sequence[Array]) -> list[Array]:
        """Mark the elements in whose making no subnormal occurs."""
        return [unaffected(self.spec.name, self.leaves(), wanted[0])]


def derive(seed: int = 0, thorough: bool = False) -> Iterator[Check]:
    """Give the checks of every rounding element-wise row of floats: `sweep/<op>/<dtype>/<k>`.

    `k` names the source of the operands and its block; for casts the dtype they go to as well.
    They are a function of `seed`, which is part of the ids unless it is 0. `thorough` adds blocks.
    """
    for spec in REGISTRY.values():
        if spec.kind is Kind.ELEMENTWISE and spec.form in ROUNDING:
            for dtype in takes(spec):
                for attrs, source in _sources(spec, dtype):
                    times = THOROUGH if thorough and source.drawn else 1
                    for block in range(source.blocks * times):
                        yield _check(SweepSubject(spec, dtype, attrs, source, block, seed))


def _sources(spec: OpSpec, dtype: DType) -> Iterator[tuple[Any, Source]]:
    if spec.attrs is Cast:
        for to in takes(spec):
            if bool_ not in (dtype, to) and FLOATS & {dtype, to} and dtype is not to:
                extra = MIDDLES if to is float16 and dtype in FLOATS else ()
                yield from ((made(spec, dtype=to), s) for s in (*_usual(spec, dtype), *extra))
    elif dtype in FLOATS:
        for source in _usual(spec, dtype):
            yield None, source
        if dtype is not float16:
            yield from ((None, source) for source in _hard(spec))


def _usual(spec: OpSpec, dtype: DType) -> tuple[Source, ...]:
    """Give the sources of a dtype and number of operands."""
    if dtype not in FLOATS:
        return WHOLE
    if (spec.arity or 1) > 1:
        return TWO
    return EVERY if dtype is float16 else ONE


def _hard(spec: OpSpec) -> Iterator[Source]:
    for name in HARD.get(spec.name, ()):
        yield Source(name, dense.hard(name), 1 << 18)
    if spec.name in MANY:
        yield MANY[spec.name]


def _check(subject: SweepSubject) -> Check:
    spec, source, seed = subject.spec, subject.source, subject.seed
    to = f"{subject.attrs.dtype.name}-" if spec.attrs is Cast else ""
    block = str(subject.block) if source.drawn else ""
    return Check(
        id=f"sweep/{spec.name}/{subject.dtype.name}/{to}{source.name}{block}"
        + (f"@{seed}" if seed else ""),
        family=spec.kind.value,
        op=spec.name,
        dtype=subject.dtype.name,
        part="sweep",
        subject=subject,
        about={"operands": source.name, "block": str(subject.block), "seed": str(seed)},
        runs=("first",),  # blocks of one size are replays of one plan, with other values each
    )

"""Random graphs of 5 to 60 operations over the whole registry, each a function of its number."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import vkml
from vkml import Tensor
from vkml_conformance.capture import capture
from vkml_conformance.check import ALL_RUNS, Check, Run
from vkml_conformance.choices import Choices, Chooser
from vkml_conformance.graph_rules import RULES
from vkml_conformance.growth import DTYPE_DRAW, Growth
from vkml_conformance.guesses import guess
from vkml_conformance.program import Number, Program
from vkml_conformance.values import Array
from vkml_core.dtypes import DType
from vkml_core.errors import ShapeError
from vkml_core.graph import Node, build
from vkml_core.ops.spec import REGISTRY, Form, Kind, OpSpec

LEAST: Final = 5
OFTEN: Final = 8
"""One graph in so many is run often."""
MOST: Final = 60
_KINDS: Final = tuple(kind for kind, (often, _) in RULES.items() for _ in range(often))


def _rows(kind: Kind) -> tuple[OpSpec, ...]:
    """Give the rows of a kind; rounded binary ones, of which everything is made, seven times."""
    rows = [s for s in REGISTRY.values() if s.kind is kind]
    basic = [
        s for s in rows if kind is Kind.ELEMENTWISE and s.arity == 2 and s.form is Form.ROUNDED
    ]
    return (*rows, *(basic * 6))


_ROWS: Final = {kind: _rows(kind) for kind in Kind}


@dataclass(frozen=True)
class Graph:
    """A random graph as a subject; it is made when it is first needed, and not kept for ever."""

    number: int
    seed: int

    @property
    def program(self) -> Program:
        """The graph as data."""
        return _program(self.number, self.seed)

    @property
    def dtype(self) -> DType:
        """The dtype of the first output: the first choice, so that no graph is made for it."""
        return first_dtype(self._chooser())

    def _chooser(self) -> Chooser:
        return Chooser(f"graph {self.number} of seed {self.seed}")

    @property
    def results(self) -> Sequence[str]:
        """What each output is called."""
        return self.program.results

    def leaves(self) -> Sequence[Array]:
        """Give the arrays that are uploaded."""
        return self.program.leaves()

    def record(self, leaves: Sequence[Tensor]) -> Sequence[Tensor]:
        """Record all calls."""
        return self.program.record(leaves)

    def wanted(self) -> Sequence[Array]:
        """Give what the oracle gives."""
        return self.program.wanted()

    def held(self, wanted: Sequence[Array]) -> Sequence[Array] | None:
        """Promise everything where nothing is subnormal, and else nothing."""
        return self.program.held(wanted)


@lru_cache(maxsize=16)
def _program(number: int, seed: int) -> Program:
    chooser = Chooser(f"graph {number} of seed {seed}")
    return grow(chooser, f"graph {number} of seed {seed}", first_dtype(chooser))


def derive(seed: int, count: int) -> Iterator[Check]:
    """Give the first `count` graphs of a seed."""
    return (graph_check(number, seed) for number in range(count))


def graph_check(number: int, seed: int = 0) -> Check:
    """Give the check `graph/NUMBER`, or `graph/NUMBER@SEED` where the seed is not 0."""
    graph = Graph(number, seed)
    name = f"graph/{number}@{seed}" if seed else f"graph/{number}"
    runs: tuple[Run, ...] = (*ALL_RUNS, "often") if number % OFTEN == 0 else ALL_RUNS
    return Check(name, "graph", "graph", graph.dtype.name, "graph", graph, About(graph), runs)


class About(Mapping[str, str]):
    """What a report tells of a graph, worked out when it is read."""

    _KEYS: Final = ("operations", "ops", "shapes", "seed")

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __getitem__(self, key: str) -> str:
        return dict(zip(self._KEYS, self._told(), strict=True))[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._KEYS)

    def __len__(self) -> int:
        return len(self._KEYS)

    def _told(self) -> tuple[str, ...]:
        program = self._graph.program
        counts = Counter(call.op for call in program.calls)
        ops = ", ".join(f"{op} ×{n}" if n > 1 else op for op, n in sorted(counts.items()))
        arrays = [x for x in program.inputs if not isinstance(x, Number)]
        shapes = ", ".join(f"{x.dtype}{x.shape}".replace(" ", "") for x in arrays)
        return str(len(program.calls)), ops, shapes, str(self._graph.seed)


def first_dtype(choices: Choices) -> DType:
    """Make the first choice of a graph: the dtype of its first output."""
    return DTYPE_DRAW[choices.choose(len(DTYPE_DRAW))]


def grow(choices: Choices, name: str, dtype: DType) -> Program:
    """Grow a graph whose first output is of a dtype. `name` is what the values of leaves are of."""
    gradient = dtype.is_floating_point and choices.choose(5) < 2
    with vkml.eager_mode(False), vkml.enable_grad():
        growth = Growth(choices, name, guess, gradient)
        growth.leaf(growth.base, dtype)
        _fill(growth, 4 + choices.choose(14 if gradient else MOST - 16))
        roots = (_gradients(growth, dtype) if gradient else None) or _sinks(growth, dtype)
        return capture(roots)


def _fill(growth: Growth, target: int) -> None:
    """Add operations; what does not fit is chosen again."""
    for _ in range(4 * target):
        if growth.made >= target:
            break
        kind = growth.one_of(_KINDS)
        spec = growth.one_of(_ROWS[kind])
        if growth.gradient and not spec.differentiable and growth.choose(4):
            continue
        try:
            RULES[kind][1](growth, spec)
        except ShapeError:
            continue
    while growth.made < LEAST:
        x = growth.find(REGISTRY["neg"].dtypes)
        growth.call("neg", x)


def _sinks(growth: Growth, dtype: DType) -> list[Node]:
    """Take what nothing uses as outputs, and one value that is used as well."""
    made = [v.node for v in growth.values if v.node.inputs]
    used = {i.serial for node in made for i in node.inputs}
    roots = [node for node in made if node.serial not in used]
    inner = [node for node in made if node.serial in used]
    return _ordered([*roots, *inner[-1:]], dtype)


def _ordered(roots: list[Node], dtype: DType) -> list[Node]:
    """Put an output of a dtype first, converting one where there is none."""
    front = next((r for r in roots if r.dtype is dtype), None)
    if front is None:
        return [build.cast(roots[0], dtype=dtype), *roots]
    return [front, *(r for r in roots if r is not front)]


def _gradients(growth: Growth, dtype: DType) -> list[Node] | None:
    """Take the gradients of a late value to all leaves as outputs; None if that gets too large."""
    made = [v.node for v in growth.values if v.node.requires_grad and v.node.inputs]
    for root in reversed(made[-1:] + made[:-1][::3]):
        for leaf in growth.leaves:
            leaf.grad = None
        output = Tensor(root)
        seed = growth.leaf(root.shape, root.dtype)
        output.backward(Tensor(seed.node).detach(), retain_graph=True)
        found = [leaf.grad.node for leaf in growth.leaves if leaf.grad is not None]
        roots = _ordered([*found, root], dtype) if found else []
        if roots and LEAST <= len(capture(roots).calls) <= MOST:
            return roots
    return None

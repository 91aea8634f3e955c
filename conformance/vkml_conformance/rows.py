"""Checks of single rows: forward, gradient and second gradient of every derived case."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final, NamedTuple

import numpy as np

import vkml
from vkml import Tensor
from vkml_conformance.cases import Case, cases_of, takes
from vkml_conformance.check import ALL_RUNS, Check, Part
from vkml_conformance.domains import DOMAINS
from vkml_conformance.engine import ORACLE, compute, upload
from vkml_conformance.normal import compared, compared_gradient
from vkml_conformance.values import Array
from vkml_core import graph
from vkml_core.dtypes import DType, to_dtype
from vkml_core.ops.spec import REGISTRY, Kind, OpSpec

Named = list[tuple[str, Tensor]]


@dataclass(frozen=True)
class RowSubject:
    """One part of a case. Leaves: the memory of each operand, then the gradients received."""

    case: Case
    part: Part

    @cached_property
    def results(self) -> tuple[str, ...]:
        """`forward`, `gradient of operand i`, `second gradient of operand i` or `… received`."""
        return tuple(name for name, _ in self._record(upload(self.leaves(), ORACLE)))

    def leaves(self) -> list[Array]:
        """Give the memory of the operands as they are laid out, and the gradients received."""
        case = self.case
        memory = [lay.memory(x) for x, lay in zip(case.arrays, case.layouts, strict=True)]
        return [*memory, *_RECEIVED[self.part](case)]

    def record(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Record the row on views of its operands, and its gradients where they are asked for."""
        return [tensor for _, tensor in self._record(leaves)]

    def wanted(self) -> list[Array]:
        """Give what the oracle gives."""
        return compute(self.leaves(), self, ORACLE)

    def held(self, wanted: Sequence[Array]) -> list[Array] | None:
        """Mark what exact-normal promises (see `vkml_conformance.normal`)."""
        rule = compared if self.part == "forward" else compared_gradient
        masks = [rule(self.case, want) for want in wanted]
        held = [mask for mask in masks if mask is not None]
        return held if len(held) == len(masks) else None

    def _record(self, leaves: Sequence[Tensor]) -> Named:
        return _RECORD[self.part](self.case, leaves)


def views(case: Case, leaves: Sequence[Tensor]) -> list[Tensor]:
    """Give the operands as views of their memory."""
    pairs = zip(leaves, case.layouts, case.arrays, strict=False)
    return [layout.view(leaf, array.shape) for leaf, layout, array in pairs]


def apply(case: Case, operands: Sequence[Tensor]) -> Tensor:
    """Record the row."""
    return _APPLY.get(case.spec.kind, _row)(case, operands)


def _row(case: Case, operands: Sequence[Tensor]) -> Tensor:
    return Tensor(graph.apply(case.spec, tuple(t.node for t in operands), case.sample.attrs))


def _leaf(case: Case, operands: Sequence[Tensor]) -> Tensor:
    """Give a buffer back as it was given, or one number everywhere."""
    (tensor,) = operands
    if case.spec.name == "data":
        return tensor
    first: Any = case.arrays[0].reshape(-1)[:1]
    number = first.item() if first.size else np.zeros((), first.dtype).item()
    return Tensor(graph.full(tensor.shape, number, tensor.dtype, tensor.node.device))


def _assign(case: Case, operands: Sequence[Tensor]) -> Tensor:
    """Give the handle that was assigned to."""
    target, source = operands
    return target.assign_(source)


_APPLY: Final[dict[Kind, Callable[[Case, Sequence[Tensor]], Tensor]]] = {
    Kind.LEAF: _leaf,
    Kind.ASSIGN: _assign,
}


def _forward(case: Case, leaves: Sequence[Tensor]) -> Named:
    return [("forward", apply(case, views(case, leaves)))]


def _gradient(case: Case, leaves: Sequence[Tensor]) -> Named:
    """Record the gradient of every value's memory, for the gradient that the result receives."""
    found = _gradients(case, leaves, create_graph=False)
    return [(f"gradient of operand {i}", g) for i, g in found]


def _second(case: Case, leaves: Sequence[Tensor]) -> Named:
    """Record the gradients of the gradients: of each value's memory and of what was received."""
    operands = len(case.arrays)
    received = leaves[operands].requires_grad_()
    seeds = dict(zip(case.values, leaves[operands + 1 :], strict=True))
    firsts = [(i, g) for i, g in _gradients(case, leaves, create_graph=True) if g.requires_grad]
    if not firsts:
        return []
    asked = [*(leaves[i] for i in case.values), received]
    outputs = [g for _, g in firsts]
    found = vkml.grad(outputs, asked, [seeds[i] for i, _ in firsts], allow_unused=True)
    names = [*(f"second gradient of operand {i}" for i in case.values), "second gradient received"]
    return [(name, g) for name, g in zip(names, found, strict=True) if g is not None]


def _gradients(
    case: Case, leaves: Sequence[Tensor], *, create_graph: bool
) -> list[tuple[int, Tensor]]:
    values = [leaves[i].requires_grad_() for i in case.values]
    result = apply(case, views(case, leaves))
    received = leaves[len(case.arrays)]
    found = vkml.grad(result, values, received, create_graph=create_graph, allow_unused=True)
    return [(i, g) for i, g in zip(case.values, found, strict=True) if g is not None]


_RECORD: Final[dict[Part, Callable[[Case, Sequence[Tensor]], Named]]] = {
    "forward": _forward,
    "gradient": _gradient,
    "second": _second,
}


def _received_once(case: Case) -> list[Array]:
    return [case.received(_shape(case))]


def _received_twice(case: Case) -> list[Array]:
    shapes = {i: case.layouts[i].memory(case.arrays[i]).shape for i in case.values}
    return [*_received_once(case), *(case.received_twice(i, shapes[i]) for i in case.values)]


_RECEIVED: Final[dict[Part, Callable[[Case], list[Array]]]] = {
    "forward": lambda case: [],
    "gradient": _received_once,
    "second": _received_twice,
}


def _shape(case: Case) -> tuple[int, ...]:
    """Give the shape of the result, from the row's own rule."""
    nodes = tuple(
        graph.full(x.shape, x.dtype.type(0).item(), to_dtype(x.dtype), ORACLE) for x in case.arrays
    )
    return case.spec.infer(nodes, case.sample.attrs)[0]


def _called(case: Case) -> tuple[Any, ...]:
    """Tell the sample of a case from others of its row."""
    return case.sample.shapes, case.sample.attrs


@cache
def _twice(spec: OpSpec, dtype: DType) -> frozenset[tuple[Any, ...]]:
    """Give the samples of a row whose gradient has a gradient itself."""
    first = {_called(c): c for c in reversed(list(cases_of(spec, dtype))) if c.differentiable}
    return frozenset(k for k, case in first.items() if RowSubject(case, "second").results)


def parts(case: Case) -> tuple[Part, ...]:
    """List what there is to compare of a case."""
    if not case.differentiable:
        return ("forward",)
    if _called(case) in _twice(case.spec, case.dtype):
        return ("forward", "gradient", "second")
    return ("forward", "gradient")


def identify(case: Case, part: Part) -> str:
    """Give the id of a check: row, dtype, part and a digest of all the rest."""
    digest = hashlib.sha256(f"{case.name} {part}".encode()).hexdigest()[:10]
    seed = f"@{case.seed}" if case.seed else ""
    return f"{case.spec.name}/{case.dtype.name}/{part}/{digest}{seed}"


def check_of(case: Case, part: Part, *, full: bool = True) -> Check:
    """Make the check of a part of a case; a full one is run in all three ways."""
    return Check(
        id=identify(case, part),
        family=case.spec.kind.value,
        op=case.spec.name,
        dtype=case.dtype.name,
        part=part,
        subject=RowSubject(case, part),
        about=about(case),
        runs=ALL_RUNS if full else ("first",),
    )


def about(case: Case) -> dict[str, str]:
    """Tell what a report says of a case."""
    told = {
        "attributes": "" if case.sample.attrs is None else repr(case.sample.attrs),
        "shapes": ", ".join(str(shape) for shape in case.sample.shapes),
        "layouts": ", ".join(layout.name for layout in case.layouts),
        "values": case.domain.name,
        "seed": str(case.seed),
    }
    return {name: text for name, text in told.items() if text}


class Choice(NamedTuple):
    """A part of a case, before a check is made of it, which takes longer."""

    case: Case
    part: Part
    full: bool

    def check(self) -> Check:
        """Make the check."""
        return check_of(self.case, self.part, full=self.full)


def derive(
    seed: int = 0, *, thorough: bool = False, rows: Mapping[str, OpSpec] = REGISTRY
) -> Iterator[list[Choice]]:
    """Give the parts of all cases of every row and dtype, a group each.

    Not thorough, second gradients are left to the first and the last domain, and the eager run and
    the replay to the first: the others run through the same plan, with other values each.
    """
    for spec in rows.values():
        for dtype in takes(spec):
            domains = DOMAINS[dtype.category]
            twice = domains if thorough else (domains[0], domains[-1])
            thrice = domains if thorough else domains[:1]
            yield [
                Choice(case, part, case.domain in thrice)
                for case in cases_of(spec, dtype, seed)
                for part in parts(case)
                if part != "second" or case.domain in twice
            ]

"""Makes programs of recorded graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vkml_conformance.check import Subject
from vkml_conformance.engine import ORACLE, upload
from vkml_conformance.program import Call, Number, Program
from vkml_conformance.values import Array
from vkml_core.dtypes import DType
from vkml_core.graph import Node, Storage, pending_inputs, reachable
from vkml_core.ops.spec import Kind
from vkml_core.shapes import Shape


@dataclass(frozen=True, eq=False)
class Outline:
    """A program whose arrays are still on their device: cheap to make, and nothing waits for it."""

    inputs: tuple[Number | tuple[Storage, Shape, DType], ...]
    calls: tuple[Call, ...]
    outputs: tuple[int, ...]

    def download(self) -> Program:
        """Copy the arrays to the host."""
        inputs = (x if isinstance(x, Number) else _download(*x) for x in self.inputs)
        return Program(tuple(inputs), self.calls, self.outputs)


def _download(storage: Storage, shape: Shape, dtype: DType) -> Array:
    found: Array = storage.device.download(storage.buffer, shape, dtype)
    return found


def outline(roots: Sequence[Node]) -> tuple[Outline, list[Node]]:
    """Describe the graph that computing `roots` runs, and give the nodes of its calls."""
    order = reachable(roots, pending_inputs)
    leaves = [n for n in order if n.storage is not None or n.op.kind is Kind.LEAF]
    made = [n for n in order if n.storage is None and n.op.kind is not Kind.LEAF]
    place = {n.serial: i for i, n in enumerate([*leaves, *made])}
    inputs = tuple(_leaf(n) for n in leaves)
    calls = (Call(n.op.name, n.attrs, tuple(place[i.serial] for i in n.inputs)) for n in made)
    return Outline(inputs, tuple(calls), tuple(place[r.serial] for r in roots)), made


def _leaf(node: Node) -> Number | tuple[Storage, Shape, DType]:
    if node.storage is not None:
        return node.storage, node.shape, node.dtype
    assert node.value is not None  # the registry's other leaf is `full`
    return Number(node.shape, node.dtype, node.value)


def capture(roots: Sequence[Node]) -> Program:
    """Make a program of a recorded graph; what is computed already becomes an array."""
    return outline(roots)[0].download()


def program_of(subject: Subject) -> Program:
    """Make a program of what a subject records; a program is given back as it is."""
    if isinstance(subject, Program):
        return subject
    kept = list(subject.record(upload(subject.leaves(), ORACLE)))
    return capture([t.node for t in kept])

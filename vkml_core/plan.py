"""The plan: frozen, printable data that says what a backend has to run, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from vkml_core.dtypes import DType
from vkml_core.shapes import Shape, View, size


class SlotKind(Enum):
    """Where a slot's memory comes from."""

    INPUT = "input"
    """A buffer given at run time, only read."""
    SCALAR = "scalar"
    """One host number given at run time; every element has its value."""
    STATE = "state"
    """A buffer given at run time, read and then overwritten in place by an `assign`."""
    TEMP = "temp"
    """A range of the plan's arena."""
    OUTPUT = "output"
    """A new buffer that outlives the run."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A piece of memory: contiguous elements of one dtype. `offset` is its place in the arena."""

    index: int
    kind: SlotKind
    shape: Shape
    dtype: DType
    offset: int | None = None

    @property
    def nbytes(self) -> int:
        """Bytes that it needs."""
        return size(self.shape) * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class Operand:
    """What a step reads: a slot through a strided view (in elements of the slot's dtype)."""

    slot: int
    view: View


@dataclass(frozen=True, slots=True)
class Call:
    """One operation inside a step. An argument i ≥ 0 is the step's operand i, i < 0 the result of
    the step's call ~i (−1 is call 0, −2 is call 1, …).
    """

    op: str
    attrs: Any
    args: tuple[int, ...]
    shape: Shape
    dtype: DType


@dataclass(frozen=True, slots=True)
class Step:
    """What one kernel does: calls in order; the last call's result is written to `write`."""

    calls: tuple[Call, ...]
    operands: tuple[Operand, ...]
    write: int


class Hazard(Enum):
    """Why one step must wait for another."""

    RAW = "read after write"
    WAR = "write after read"
    WAW = "write after write"


@dataclass(frozen=True, slots=True)
class Barrier:
    """Before step `before` starts, step `after` and all earlier ones must have finished."""

    before: int
    after: int
    hazards: frozenset[Hazard]


@dataclass(frozen=True, slots=True)
class Plan:
    """Steps over slots. `inputs` lists the INPUT and STATE slots in binding order, `scalars` the
    SCALAR slots, `outputs` one slot for each root (INPUT and STATE slots may be named there).
    """

    slots: tuple[Slot, ...]
    steps: tuple[Step, ...]
    inputs: tuple[int, ...]
    scalars: tuple[int, ...]
    outputs: tuple[int, ...]
    barriers: tuple[Barrier, ...] = ()
    arena: int = 0
    """Bytes of the arena that holds the TEMP slots."""
    notes: dict[str, int] = field(default_factory=dict, compare=False, hash=False)

    def ops(self) -> Iterator[str]:
        """Name the operations, with repeats, in order."""
        return (call.op for step in self.steps for call in step.calls)

    def __str__(self) -> str:
        from vkml_core.printing import format_plan

        return format_plan(self)

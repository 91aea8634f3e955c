"""A device that computes nothing and checks everything: elements are symbols, not numbers.

An element's symbol is a hash of the operation, its attributes and the symbols of what it depends
on. Two runs that give equal symbols computed the same thing from the same leaves, whatever the
order, fusion and memory in between. Memory is simulated byte by byte.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

from vkml_core.backend import Array, Capabilities, DeviceKind
from vkml_core.dtypes import DType, Scalar
from vkml_core.errors import PlanError
from vkml_core.graph import Node, pending_inputs, reachable
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Operand, Plan, Slot, SlotKind, Step
from vkml_core.shapes import Shape, View, size
from vkml_core.verify import verify

Symbols = npt.NDArray[np.uint64]
NAME: Final = "null"
_PRIME: Final = np.uint64(0x9E3779B97F4A7C15)


def mix(*parts: Symbols) -> Symbols:
    """Hash arrays of one shape element by element; the order of the parts matters."""
    total = np.zeros(
        (1, *parts[0].shape), np.uint64
    )  # of rank ≥ 1: NumPy scalars warn, arrays wrap
    for part in parts:
        total = (total ^ part) * _PRIME
        total = total ^ (total >> np.uint64(29))
    mixed: Symbols = total[0]
    return mixed


def constant(value: object, shape: Shape) -> Symbols:
    """Give the symbol of anything that has a repr, as an array."""
    text = repr(value).encode()
    number = zlib.crc32(text) << 32 | zlib.adler32(text)
    return np.full(shape, number, np.uint64)


def symbols_of(op: str, attrs: Any, args: Sequence[Symbols], shape: Shape, dtype: DType) -> Symbols:
    """Give the symbols of an operation's result.

    Element-wise, an element depends on the same element of each argument; a copy changes nothing;
    otherwise every element depends on its place and on all elements of all arguments.
    """
    if op == "contiguous":
        return args[0].copy()
    seed = constant((op, attrs, dtype), shape)
    if REGISTRY[op].kind is Kind.ELEMENTWISE:
        return mix(seed, *args)
    place = np.arange(size(shape), dtype=np.uint64).reshape(shape)
    return mix(seed, place, *(np.broadcast_to(_summary(a), shape) for a in args))


def _summary(array: Symbols) -> Symbols:
    place = np.arange(array.size, dtype=np.uint64)
    total = np.add.reduce(mix(array.reshape(-1), place), dtype=np.uint64)
    return mix(np.array(total, np.uint64), constant(array.shape, ()))


_VIEWS: Final[dict[str, Callable[[Symbols, Any], Symbols]]] = {
    "reshape": lambda x, a: x.reshape(a.shape),
    "permute": lambda x, a: x.transpose(a.axes),
    "expand": lambda x, a: np.broadcast_to(x, a.shape),
    "detach": lambda x, a: x,
}


def _slice(x: Symbols, attrs: Any) -> Symbols:
    for axis, (start, length, step) in enumerate(
        zip(attrs.start, attrs.length, attrs.step, strict=True)
    ):
        x = x.take([start + i * step for i in range(length)], axis=axis)
    return x


def evaluate(roots: Sequence[Node]) -> dict[int, Symbols]:
    """Give the symbols of every node that `roots` reach, straight from the graph, by serial."""
    found: dict[int, Symbols] = {}
    for node in reachable(roots, pending_inputs):
        if node.storage is not None:
            found[node.serial] = _held(node).reshape(node.shape).copy()
            continue
        args = [found[i.serial] for i in node.inputs]
        if node.op.kind is Kind.LEAF:
            found[node.serial] = constant(node.value, node.shape)
        elif node.op.kind is Kind.ASSIGN:
            found[node.serial] = args[1]
        elif node.op.name == "slice":
            found[node.serial] = _slice(args[0], node.attrs)
        elif node.op.kind is Kind.VIEW:
            found[node.serial] = _VIEWS[node.op.name](args[0], node.attrs)
        else:
            found[node.serial] = symbols_of(node.op.name, node.attrs, args, node.shape, node.dtype)
    return found


def _held(node: Node) -> Symbols:
    assert node.storage is not None
    buffer = node.storage.buffer
    assert isinstance(buffer, NullBuffer)
    return buffer.symbols


class NullBuffer:
    """Memory of `nbytes` bytes; every byte of an element holds the element's symbol."""

    def __init__(self, symbols: Symbols, itemsize: int) -> None:
        self.symbols = symbols.reshape(-1)
        self.itemsize = itemsize

    @property
    def nbytes(self) -> int:
        return self.symbols.size * self.itemsize


@dataclass
class NullDevice:
    """A device that is a simulation; `order` shuffles steps as far as the barriers allow."""

    caps: Capabilities = field(default_factory=lambda: Capabilities(ops=frozenset(REGISTRY)))
    order: random.Random | None = None
    name: str = NAME
    kind: DeviceKind = "other"
    counts: dict[str, float] = field(default_factory=dict)

    def capabilities(self) -> Capabilities:
        return self.caps

    def upload(self, array: Array) -> NullBuffer:
        number = self._count("uploads")
        seed = constant((NAME, number), array.shape)
        place = np.arange(array.size, dtype=np.uint64).reshape(array.shape)
        return NullBuffer(mix(seed, place), array.dtype.itemsize)

    def download(self, buffer: NullBuffer, shape: Shape, dtype: DType) -> Array:
        assert buffer.nbytes == size(shape) * dtype.itemsize
        return buffer.symbols.reshape(shape)

    def compile(self, plan: Plan) -> NullExecutable:
        verify(plan, alignment=self.caps.alignment)
        missing = set(plan.ops()) - self.caps.ops
        assert not missing, missing
        assert self.caps.fusion or all(len(step.calls) == 1 for step in plan.steps)
        self._count("plans")
        return NullExecutable(plan, self)

    def synchronize(self) -> None:
        pass

    def stats(self) -> Mapping[str, float]:
        return self.counts

    def report(self) -> Mapping[str, str]:
        return {"driver": "none"}

    def _count(self, what: str) -> float:
        self.counts[what] = self.counts.get(what, 0) + 1
        return self.counts[what]


@dataclass
class NullExecutable:
    """Runs a plan on symbols."""

    plan: Plan
    device: NullDevice

    def run(self, inputs: Sequence[NullBuffer], scalars: Sequence[Scalar]) -> list[NullBuffer]:
        self.device._count("submissions")
        memory = _Memory(self.plan, inputs, scalars)
        for i in legal_order(self.plan, self.device.order):
            memory.run(i)
        return [memory.buffers[s] for s in self.plan.outputs]


def legal_order(plan: Plan, order: random.Random | None) -> Iterator[int]:
    """Give an order of steps that the barriers allow: a step starts only when every barrier at or
    before it is satisfied. None means the order of the plan.
    """
    marks, mark, barriers = [], -1, {b.before: b.after for b in plan.barriers}
    for i in range(len(plan.steps)):
        mark = max(mark, barriers.get(i, -1))
        marks.append(mark)
    if order is None:
        yield from range(len(plan.steps))
        return
    waiting = list(range(len(plan.steps)))
    while waiting:
        first = waiting[0]  # all steps before it are finished
        ready = [i for i in waiting if marks[i] < first]
        chosen = order.choice(ready)
        waiting.remove(chosen)
        yield chosen


class _Memory:
    """Bytes during a run: for each, the symbol that it is part of and the step that wrote it."""

    def __init__(self, plan: Plan, inputs: Sequence[NullBuffer], scalars: Sequence[Scalar]) -> None:
        self.plan = plan
        self.buffers: dict[int, NullBuffer] = {}
        self.arena = np.zeros(plan.arena, np.uint64)
        self.wrote = np.full(plan.arena, -1)
        self.writer = {step.write: i for i, step in enumerate(plan.steps)}
        for s, buffer in zip(plan.inputs, inputs, strict=True):
            if buffer.nbytes != plan.slots[s].nbytes:
                raise PlanError(f"slot {s} is given {buffer.nbytes} bytes")
            self.buffers[s] = buffer
        for s, value in zip(plan.scalars, scalars, strict=True):
            self.buffers[s] = NullBuffer(constant(value, (1,)), plan.slots[s].dtype.itemsize)

    def run(self, i: int) -> None:
        step = self.plan.steps[i]
        operands = [self._read(operand) for operand in step.operands]
        results: list[Symbols] = []
        for call in step.calls:
            args = [operands[a] if a >= 0 else results[~a] for a in call.args]
            results.append(symbols_of(call.op, call.attrs, args, call.shape, call.dtype))
        self._write(i, step, results[-1].reshape(-1))

    def _read(self, operand: Operand) -> Symbols:
        slot, view = self.plan.slots[operand.slot], operand.view
        if 0 in view.shape:
            return np.zeros(view.shape, np.uint64)
        if slot.kind is not SlotKind.TEMP:
            return _window(self.buffers[operand.slot].symbols, view)
        low, high = _bytes(slot)
        elements = self.arena[low:high].reshape(-1, slot.dtype.itemsize)
        wrote = self.wrote[low:high].reshape(-1, slot.dtype.itemsize)
        for k in range(slot.dtype.itemsize):
            if (_window(wrote[:, k], view) != self.writer[operand.slot]).any():
                raise PlanError(f"slot {operand.slot} does not hold what its step wrote")
        return _window(elements[:, 0], view)

    def _write(self, i: int, step: Step, symbols: Symbols) -> None:
        slot = self.plan.slots[step.write]
        if slot.kind is SlotKind.TEMP:
            low, high = _bytes(slot)
            self.arena[low:high] = np.repeat(symbols, slot.dtype.itemsize)
            self.wrote[low:high] = i
        elif slot.kind is SlotKind.STATE:
            self.buffers[step.write].symbols[:] = symbols
        else:
            self.buffers[step.write] = NullBuffer(symbols, slot.dtype.itemsize)


def _bytes(slot: Slot) -> tuple[int, int]:
    assert slot.offset is not None
    return slot.offset, slot.offset + slot.nbytes


def _window(flat: npt.NDArray[Any], view: View) -> npt.NDArray[Any]:
    """Read a strided view that has elements and, as `verify` checked, is inside."""
    start = flat[view.offset :]
    strides = tuple(s * flat.strides[0] for s in view.strides)
    return as_strided(start, view.shape, strides, writeable=False)

"""Graph → first plan: leaves become slots, views fold into operands, operations become steps.

The first plan has one call in each step, no arena and no barriers. It writes every STATE slot in
a copy after all other steps, so nothing that reads the old value can come too late.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from vkml_core.dtypes import DType
from vkml_core.errors import PlanError
from vkml_core.graph import Node, reachable
from vkml_core.ops.spec import Kind
from vkml_core.plan import Call, Operand, Plan, Slot, SlotKind, Step
from vkml_core.shapes import Shape, View, contiguous_strides, size

COPY: Final = "contiguous"
"""The operation of a step that only copies."""
_SHAREABLE: Final = (SlotKind.INPUT, SlotKind.TEMP, SlotKind.OUTPUT)
"""Slots that an output may be without a copy. A STATE's old value is about to be overwritten."""


@dataclass(frozen=True, slots=True)
class Scheduled:
    """A plan and how to bind it: `inputs[i]` is the position, in the node order that was
    scheduled, of the leaf that `plan.inputs[i]` stands for; `scalars` likewise.
    """

    plan: Plan
    inputs: tuple[int, ...]
    scalars: tuple[int, ...]


class _Value(NamedTuple):
    """Where a node's elements are. `home` is the STATE slot that has them after the run."""

    slot: int
    view: View
    home: int | None = None


def needed_inputs(node: Node) -> Sequence[Node]:
    """Give the inputs whose values are needed: an assignment's value is its source's."""
    if node.storage is not None:
        return ()
    return node.inputs[1:] if node.op.kind is Kind.ASSIGN else node.inputs


def lower(order: Sequence[Node], roots: Sequence[Node], donate: Iterable[Node]) -> Scheduled:
    """Make the first plan of `roots`; only what they need is scheduled.

    Of several assignments to one donated leaf the last is written in place.
    """
    live = reachable(roots, needed_inputs)
    lowering = _Lowering({n.serial: i for i, n in enumerate(order)}, _targets(live, donate))
    for node in live:
        lowering.add(node)
    lowering.write_states()
    return lowering.finish([lowering.output(root) for root in roots])


def _targets(live: Sequence[Node], donate: Iterable[Node]) -> dict[int, tuple[Node, Node]]:
    """Map a donated leaf's serial to (the leaf, its last assignment)."""
    donated = {leaf.serial for leaf in donate}
    found: dict[int, tuple[Node, Node]] = {}
    for node in live:
        if node.storage is None and node.op.kind is Kind.ASSIGN:
            leaf = node
            while leaf.storage is None and leaf.op.kind is Kind.ASSIGN:
                leaf = leaf.inputs[0]
            if leaf.serial in donated and leaf.storage is not None:
                found[leaf.serial] = (leaf, node)
    return found


def is_whole(view: View, elements: int) -> bool:
    """Whether a view inside a slot of so many elements is all of it, in order."""
    return view.is_contiguous and size(view.shape) == elements


def _canonical(view: View) -> View:
    """Give views of the same elements the same strides, whatever their axes of size 1 say."""
    if view.is_contiguous:
        strides = contiguous_strides(view.shape)
    else:
        strides = tuple(0 if d == 1 else s for d, s in zip(view.shape, view.strides, strict=True))
    return view if strides == view.strides else View(view.shape, strides, view.offset)


class _Lowering:
    """The plan being made: slots and steps so far, and where each node's value is."""

    def __init__(self, positions: dict[int, int], targets: dict[int, tuple[Node, Node]]) -> None:
        self._positions = positions
        self._targets = targets
        self._homes = {node.serial: leaf for leaf, node in targets.values()}
        self._slots: list[Slot] = []
        self._steps: list[Step] = []
        self._state_writes: list[Step] = []
        self._values: dict[int, _Value] = {}
        self._bound: dict[SlotKind, list[tuple[int, int]]] = {}
        self._numbers: dict[tuple[Hashable, DType], int] = {}

    def add(self, node: Node) -> None:
        """Place one node whose inputs are placed."""
        how: Callable[[Node], _Value] = self._step
        if node.storage is not None or node.op.kind is Kind.LEAF:
            how = self._leaf
        elif node.op.kind is Kind.VIEW:
            how = self._view
        elif node.op.kind is Kind.ASSIGN:
            how = self._assign
        elif node.op.name == COPY:
            how = self._copy
        if node.serial not in self._values:
            self._values[node.serial] = how(node)

    def _slot(self, kind: SlotKind, shape: Shape, dtype: DType) -> int:
        self._slots.append(Slot(len(self._slots), kind, shape, dtype))
        return len(self._slots) - 1

    def _bind(self, kind: SlotKind, node: Node, shape: Shape) -> int:
        slot = self._slot(kind, shape, node.dtype)
        self._bound.setdefault(kind, []).append((slot, self._positions[node.serial]))
        return slot

    def _leaf(self, node: Node) -> _Value:
        if node.storage is not None:
            slot = self._bind(SlotKind.INPUT, node, node.shape)
            if node.serial in self._targets:
                self._slots[slot] = replace(self._slots[slot], kind=SlotKind.STATE)
            return _Value(slot, View.of(node.shape))
        if node.op.name != "full":
            raise PlanError(f"schedule: leaf %{node.serial} ({node.op.name}) has no storage")
        slot = self._number(node)
        return _Value(slot, View(node.shape, (0,) * len(node.shape)))

    def _number(self, node: Node) -> int:
        """Give the slot of a number; those that are known to be the same share one."""
        if node.source is None:
            return self._bind(SlotKind.SCALAR, node, ())
        key = (node.source.key, node.dtype)
        if key not in self._numbers:
            self._numbers[key] = self._bind(SlotKind.SCALAR, node, ())
        return self._numbers[key]

    def _view(self, node: Node) -> _Value:
        source, rule = self._values[node.inputs[0].serial], node.op.view
        assert rule is not None  # the registry's rule for views
        view = rule(source.view, node.attrs)
        if view is None:  # only the shape changes, but strides cannot express it
            return _Value(self._copy_to(SlotKind.TEMP, source, node.dtype), View.of(node.shape))
        home = source.home
        if home is not None:
            of_home = rule(View.of(node.inputs[0].shape), node.attrs)
            whole = of_home is not None and is_whole(of_home, size(node.inputs[0].shape))
            home = home if whole else None
        return _Value(source.slot, view, home)

    def _copy(self, node: Node) -> _Value:
        """Nothing is copied that is in order already."""
        source = self._values[node.inputs[0].serial]
        return source if source.view.is_contiguous else self._step(node)

    def _assign(self, node: Node) -> _Value:
        source = self._values[node.inputs[1].serial]
        leaf = self._homes.get(node.serial)
        if leaf is None:
            return _Value(source.slot, source.view)
        self.add(leaf)
        home = self._values[leaf.serial].slot
        return _Value(source.slot, source.view, home)

    def _step(self, node: Node) -> _Value:
        operands: dict[Operand, int] = {}
        args = tuple(
            operands.setdefault(self._operand(self._values[i.serial]), len(operands))
            for i in node.inputs
        )
        slot = self._slot(SlotKind.TEMP, node.shape, node.dtype)
        call = Call(node.op.name, node.attrs, args, node.shape, node.dtype)
        self._steps.append(Step((call,), tuple(operands), slot))
        return _Value(slot, View.of(node.shape))

    @staticmethod
    def _operand(value: _Value) -> Operand:
        return Operand(value.slot, _canonical(value.view))

    def _copy_to(self, kind: SlotKind, source: _Value, dtype: DType) -> int:
        slot = self._slot(kind, source.view.shape, dtype)
        self._steps.append(self._copying(source, slot))
        return slot

    def _copying(self, source: _Value, slot: int) -> Step:
        call = Call(COPY, None, (0,), source.view.shape, self._slots[slot].dtype)
        return Step((call,), (self._operand(source),), slot)

    def write_states(self) -> None:
        """Plan the write of every STATE slot; a source in a STATE slot is copied out first."""
        for leaf, node in self._targets.values():
            source = self._values[node.serial]
            home = self._values[leaf.serial].slot
            if source.slot == home and is_whole(source.view, size(leaf.shape)):
                self._slots[home] = replace(self._slots[home], kind=SlotKind.INPUT)
        for leaf, node in self._targets.values():
            source, slot = self._values[node.serial], self._values[leaf.serial].slot
            if self._slots[slot].kind is SlotKind.INPUT:
                continue
            if self._slots[source.slot].kind is SlotKind.STATE:
                kept = self._copy_to(SlotKind.TEMP, source, leaf.dtype)
                source = _Value(kept, View.of(source.view.shape))
            self._state_writes.append(self._copying(source, slot))

    def output(self, root: Node) -> int:
        """Give the slot that holds a root: its own, or one that holds exactly its elements."""
        value = self._values[root.serial]
        if value.home is not None:
            return value.home
        slot = self._slots[value.slot]
        if slot.kind not in _SHAREABLE or not is_whole(value.view, size(slot.shape)):
            return self._copy_to(SlotKind.OUTPUT, value, root.dtype)
        if slot.kind is SlotKind.TEMP:
            self._slots[value.slot] = replace(slot, kind=SlotKind.OUTPUT)
        return value.slot

    def finish(self, outputs: Sequence[int]) -> Scheduled:
        """Freeze the plan."""
        inputs = self._bound.get(SlotKind.INPUT, [])
        scalars = self._bound.get(SlotKind.SCALAR, [])
        plan = Plan(
            slots=tuple(self._slots),
            steps=(*self._steps, *self._state_writes),
            inputs=tuple(slot for slot, _ in inputs),
            scalars=tuple(slot for slot, _ in scalars),
            outputs=tuple(outputs),
        )
        return Scheduled(plan, tuple(p for _, p in inputs), tuple(p for _, p in scalars))

"""Copies on a device: tensors get buffers of their own before they are overwritten in place."""

from __future__ import annotations

from collections.abc import Sequence
from weakref import ref

from vkml_core import runtime
from vkml_core.backend import Device
from vkml_core.graph import Node, Storage, data
from vkml_core.plan import Call, Operand, Plan, Slot, SlotKind, Step
from vkml_core.schedule import Scheduled
from vkml_core.schedule.lower import COPY
from vkml_core.shapes import View
from vkml_core.tensor import Tensor


def separate(tensors: Sequence[Tensor], device: str, opened: Device) -> None:
    """Let each tensor, which is computed, stand for a copy of its value that nobody else holds."""
    nodes = [t.node for t in tensors]
    key = ("copies", device, *((n.shape, n.dtype) for n in nodes))
    entry = runtime.find_plan(key, opened)
    if entry is None:
        entry = runtime.keep_plan(key, device, opened, Scheduled(_copies(nodes), (), ()))
    buffers = [n.storage.buffer for n in nodes if n.storage is not None]
    for tensor, node, buffer in zip(tensors, nodes, entry.executable.run(buffers, []), strict=True):
        leaf = data(Storage(buffer, opened), node.shape, node.dtype, device)
        if node.requires_grad:
            leaf.requires_grad, leaf.owner = True, ref(tensor)
        tensor.node = leaf


def _copies(nodes: Sequence[Node]) -> Plan:
    """Plan to copy each of n inputs, slots 0 to n − 1, into outputs."""
    n = len(nodes)
    kinds = [SlotKind.INPUT] * n + [SlotKind.OUTPUT] * n
    slots = [
        Slot(i, kind, node.shape, node.dtype)
        for i, (kind, node) in enumerate(zip(kinds, [*nodes, *nodes], strict=True))
    ]
    steps = [
        Step(
            (Call(COPY, None, (0,), node.shape, node.dtype),),
            (Operand(i, View.of(node.shape)),),
            n + i,
        )
        for i, node in enumerate(nodes)
    ]
    return Plan(tuple(slots), tuple(steps), tuple(range(n)), (), tuple(range(n, 2 * n)))

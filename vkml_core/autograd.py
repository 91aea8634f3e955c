"""Reverse-mode differentiation: walks the graph backwards and emits nodes.

Because the rules are written in operations, the result is a graph like any other and can be
differentiated again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vkml_core.errors import GradientError
from vkml_core.graph import Node, reachable
from vkml_core.ops.spec import NotDifferentiable


def history(node: Node) -> tuple[Node, ...]:
    """Give the inputs through which a gradient flows; a leaf of autograd has none."""
    if node.owner is not None:
        return ()
    return tuple(i for i in node.inputs if i.requires_grad)


def gradients(
    outputs: Sequence[tuple[Node, Node]], stops: Sequence[Node] = ()
) -> Mapping[int, Node]:
    """Map the serial of every leaf, and of every node in `stops`, to its gradient.

    `outputs` pairs each output with the gradient that it receives. Where a node is used several
    times its gradients are added in the order in which the program used it (contract, rule 15).
    """
    received: dict[int, list[Node]] = {}
    for node, g in outputs:
        received.setdefault(node.serial, []).append(g)
    asked = {node.serial for node in stops}
    totals: dict[int, Node] = {}
    for node in reversed(reachable([n for n, _ in outputs], history)):
        parts = received.pop(node.serial, None)
        if parts is None:
            continue
        total = _add_in_order(parts)
        if node.owner is not None or node.serial in asked:
            totals[node.serial] = total
        if node.owner is None:
            _send(node, total, received)
    return totals


def _send(node: Node, total: Node, received: dict[int, list[Node]]) -> None:
    """Give each input its share. Inputs are taken last first, since the walk is backwards."""
    vjp = node.op.vjp
    if isinstance(vjp, NotDifferentiable):  # it never requires a gradient
        raise GradientError(f"{node.op.name}: has no gradient: {vjp.reason}")
    for i in reversed(range(len(node.inputs))):
        source = node.inputs[i]
        if source.requires_grad:
            received.setdefault(source.serial, []).append(vjp(node, total, i))


def _add_in_order(parts: list[Node]) -> Node:
    """Add what came from the last use to the first, in the order of use."""
    total = parts[-1]
    for part in reversed(parts[:-1]):
        total = total + part
    return total


def why_no_gradient(node: Node) -> str:
    """Say why `node` does not require a gradient: the operation that stops it, if one does."""
    for n in reversed(reachable([node])):
        if isinstance(n.op.vjp, NotDifferentiable) and any(i.requires_grad for i in n.inputs):
            return f"{n.op.name} has no gradient: {n.op.vjp.reason}"
    return "nothing that it is computed from has requires_grad=True (or it was made under no_grad)"

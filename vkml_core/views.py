"""Where a node's elements lie: its view of the buffer that it would be read from."""

from __future__ import annotations

from vkml_core.graph import Node
from vkml_core.ops.spec import Kind
from vkml_core.shapes import View


def view_of(node: Node) -> View:
    """Fold the view operations from the nearest materialised node down to this one."""
    chain: list[Node] = []
    while node.storage is None and node.op.kind is Kind.VIEW:
        chain.append(node)
        node = node.inputs[0]
    view = View.of(node.shape)
    for n in reversed(chain):
        assert n.op.view is not None
        view = n.op.view(view, n.attrs) or View.of(n.shape)
    return view

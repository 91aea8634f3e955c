"""Runs a case on a device through tensors: the result of a row, the gradients of its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

import vkml
from vkml import Tensor
from vkml_conformance.cases import Case
from vkml_conformance.values import Array
from vkml_core import graph
from vkml_core.ops.spec import Kind


def forward(case: Case, device: str) -> Array:
    """Give the result of the row."""
    operands = [view for _, view in _operands(case, device, ())]
    return _record(case, operands).numpy()


def gradients(case: Case, device: str) -> list[Array]:
    """Give the gradient of every value's memory, for a gradient drawn for the result."""
    found = record_gradients(case, device)
    vkml.realize(*found)
    return [g.numpy() for g in found]


def record_gradients(case: Case, device: str) -> list[Tensor]:
    """Record what `gradients` computes."""
    pairs = _operands(case, device, case.values)
    result = _record(case, [view for _, view in pairs])
    result.backward(vkml.tensor(case.received(result.shape), device=device))
    found = [pairs[i][0].grad for i in case.values]
    return [g for g in found if g is not None]


def _operands(case: Case, device: str, values: Sequence[int]) -> list[tuple[Tensor, Tensor]]:
    """Upload the memory of each operand; give it and the view of it that the row takes."""
    out = []
    for i, (array, layout) in enumerate(zip(case.arrays, case.layouts, strict=True)):
        leaf = vkml.tensor(layout.memory(array), device=device, requires_grad=i in values)
        out.append((leaf, layout.view(leaf, array.shape)))
    return out


def _row(case: Case, operands: list[Tensor]) -> Tensor:
    nodes = tuple(t.node for t in operands)
    return Tensor(graph.apply(case.spec, nodes, case.sample.attrs))


def _leaf(case: Case, operands: list[Tensor]) -> Tensor:
    """Give a buffer back as it was given, or one number everywhere."""
    (tensor,) = operands
    if case.spec.name == "data":
        return tensor
    first: Any = case.arrays[0].reshape(-1)[:1]
    number = first.item() if first.size else np.zeros((), first.dtype).item()
    return Tensor(graph.full(tensor.shape, number, tensor.dtype, tensor.node.device))


def _assign(case: Case, operands: list[Tensor]) -> Tensor:
    """Give the handle that was assigned to."""
    target, source = operands
    return target.assign_(source)


_RECORD: Final[dict[Kind, Callable[[Case, list[Tensor]], Tensor]]] = {
    Kind.LEAF: _leaf,
    Kind.ASSIGN: _assign,
}


def _record(case: Case, operands: list[Tensor]) -> Tensor:
    return _RECORD.get(case.spec.kind, _row)(case, operands)

"""What the backward walk records: sums where something was broadcast, and nothing unused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import pytest

import vkml
from vkml import Tensor
from vkml_core import graph
from vkml_core.dtypes import float32
from vkml_core.graph import Node, reachable
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plugins import open_device

from .derivatives import leaf


@contextmanager
def recording(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Collect the names of the operations that are recorded inside."""
    names: list[str] = []
    plain = graph.apply

    def spy(spec: Any, inputs: Any, attrs: Any = None) -> Node:
        names.append(spec.name)
        return plain(spec, inputs, attrs)

    with monkeypatch.context() as patch:
        patch.setattr(graph, "apply", spy)
        yield names


def operations(tensors: list[Tensor | None]) -> list[str]:
    return [n.op.name for n in reachable([t.node for t in tensors if t is not None])]


BROADCASTS: Final = [
    ([(2, 3), (2, 3)], 0),
    ([(2, 3), (3,)], 1),
    ([(2, 1), (1, 3)], 2),
    ([(2, 3), ()], 1),
    ([(4, 2, 3), (2, 1)], 1),
    ([(2, 1, 3, 1), (5, 1, 4)], 2),
]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "pow", "remainder"])
@pytest.mark.parametrize(("shapes", "wanted"), BROADCASTS)
def test_one_sum_for_each_broadcast_operand(
    name: str, shapes: list[tuple[int, ...]], wanted: int
) -> None:
    inputs = [leaf(np.ones(s)) for s in shapes]
    out = getattr(vkml, name)(*inputs)
    found = vkml.grad(out, inputs, grad_outputs=vkml.ones_like(out))
    assert operations(list(found)).count("sum") == wanted
    assert [g.shape for g in found if g is not None] == shapes


def elementwise_nodes() -> Iterator[Node]:
    """Record every differentiable element-wise row on inputs of one shape."""
    for spec in REGISTRY.values():
        if spec.kind is Kind.ELEMENTWISE and spec.differentiable:
            floats = [leaf(np.ones((2, 3))).node for _ in range(spec.arity or 1)]
            if spec.name == "where":
                floats[0] = vkml.tensor(np.ones((2, 3), bool)).node
            attrs = {"dtype": float32} if spec.name == "cast" else {}
            yield graph.apply(spec, tuple(floats), graph.make_attrs(spec, attrs))


def test_only_expand_undoes_broadcasting(monkeypatch: pytest.MonkeyPatch) -> None:
    moving = {"sum", "expand", "reshape", "slice", "permute"}
    seen = 0
    for node in elementwise_nodes():
        with recording(monkeypatch) as names:
            for i, source in enumerate(node.inputs):
                assert callable(node.op.vjp)
                if source.requires_grad:
                    assert node.op.vjp(node, graph.const(node, 1.0), i).shape == (2, 3)
        assert not moving & set(names), node.op.name
        seen += 1
    assert seen == sum(s.kind is Kind.ELEMENTWISE and s.differentiable for s in REGISTRY.values())


def constant(*shape: int) -> Tensor:
    return leaf(np.ones(shape)).detach()


def parameter(*shape: int) -> Tensor:
    return leaf(np.ones(shape))


UNUSED: Final[list[tuple[Callable[[], Tensor], list[str]]]] = [
    (lambda: constant(2, 3) @ parameter(3, 4), ["permute", "matmul"]),
    (lambda: parameter(2, 3) @ constant(3, 4), ["permute", "matmul"]),
    (lambda: constant(2, 3) * parameter(2, 3), ["mul"]),
    (lambda: constant(2, 3) - parameter(2, 3), ["neg"]),
    (lambda: parameter(2, 3) + constant(3), []),
    (lambda: constant(2, 3) + parameter(3), ["sum"]),
    (lambda: vkml.cat([constant(2, 3), parameter(2, 3), constant(1, 3)]), ["slice"]),
    (lambda: constant(1, 1, 4, 4).conv2d(parameter(1, 1, 2, 2)), ["conv2d_weight_grad"]),
    (lambda: parameter(1, 1, 4, 4).conv2d(constant(1, 1, 2, 2)), ["conv2d_input_grad"]),
    (lambda: vkml.where(vkml.ones(2) > 0, constant(2), parameter(2)), ["where"]),
    (lambda: (constant(2, 3).exp() @ constant(3, 3)).tanh() + parameter(2, 3), []),
    (lambda: parameter(2).detach() * parameter(2), ["mul"]),
]


@pytest.mark.parametrize(("function", "wanted"), UNUSED)
def test_nothing_is_recorded_for_inputs_without_gradient(
    function: Callable[[], Tensor], wanted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out = function()
    seed = vkml.ones_like(out)
    before = graph.const(out.node, 0).serial
    with recording(monkeypatch) as names:
        out.backward(seed, retain_graph=True)
    made = graph.const(out.node, 0).serial - before - 1
    assert names == wanted
    leaves = 1 if wanted == ["where"] else 0
    assert made == len(wanted) + leaves


def test_gradients_have_no_history_unless_asked() -> None:
    x = leaf(np.array(2.0))
    (plain,) = vkml.grad(x**3, x)
    (deep,) = vkml.grad(x**3, x, create_graph=True)
    assert plain is not None and not plain.requires_grad
    assert deep is not None and deep.requires_grad
    (x**3).backward()
    assert x.grad is not None and not x.grad.requires_grad


def test_a_chain_of_20000_operations_differentiates() -> None:
    x = leaf(np.array(1.0))
    y = x
    for _ in range(10_000):
        y = -(y + 0.0)
    y.backward()
    assert x.grad is not None and x.grad.item() == 1.0


def submissions() -> float:
    return open_device("cpu").stats()["submissions"]


def test_loss_and_gradients_are_one_submission() -> None:
    w, b = leaf(np.ones((3, 2))), leaf(np.zeros(2))
    x = vkml.tensor(np.arange(12, dtype=np.float32).reshape(4, 3))
    target = vkml.tensor([0, 1, 1, 0])
    before = submissions()
    loss = vkml.cross_entropy((x @ w + b).relu(), target)
    loss.backward()
    assert w.grad is not None and b.grad is not None
    assert submissions() == before
    vkml.realize(loss, w.grad, b.grad)
    assert submissions() == before + 1
    assert np.isfinite([loss.item(), *w.grad.numpy().ravel(), *b.grad.numpy()]).all()
    assert submissions() == before + 1


def test_second_order_is_one_submission_too() -> None:
    x = leaf(np.array([0.5, 2.0]))
    before = submissions()
    (first,) = vkml.grad((x**3).sum(), x, create_graph=True)
    assert first is not None
    (second,) = vkml.grad(first.sum(), x)
    assert second is not None
    vkml.realize(first, second)
    assert (first.tolist(), second.tolist()) == ([0.75, 12.0], [3.0, 12.0])
    assert submissions() == before + 1

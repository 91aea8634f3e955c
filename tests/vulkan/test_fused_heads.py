"""Element-wise calls that follow a head have the bits of single steps, on every kernel of heads."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.oracle.run import assert_same_bits
from tests.oracle.values import Array, rough
from vkml_backend_cpu.backend import backend as oracle
from vkml_core import plugins
from vkml_core.backend import Capabilities, Device
from vkml_core.dtypes import int64, to_dtype
from vkml_core.errors import IndexError_
from vkml_core.graph import Node, Storage, build, data, pending_inputs, reachable
from vkml_core.plan import Plan
from vkml_core.schedule import schedule
from vkml_core.shapes import size
from vkml_core.verify import verify


class Graph:
    """Leaves with their arrays; a graph of them is planned with and without fusion."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.arrays: dict[int, Array] = {}
        self.oracle = oracle.open(0)

    def leaf(self, *shape: int, like: Any = np.float32) -> Node:
        x = rough(f"leaf {len(self.arrays)}", *shape).astype(like)
        storage = Storage(self.oracle.upload(x), self.oracle)
        node = data(storage, shape, to_dtype(x.dtype), plugins.default_device())
        self.arrays[node.serial] = x
        return node

    def check(self, *roots: Node, dispatches: int | None = None) -> None:
        order = reachable(roots, pending_inputs)
        plans = [self._plan(order, roots, fusion=f) for f in (False, True)]
        verify(plans[1], alignment=64)
        want = self._run(self.oracle, plans[0], order)
        got = self._run(self.device, plans[1], order)
        for a, b in zip(got, want, strict=True):
            assert_same_bits(a, b)
        if dispatches is not None:
            device: Any = self.device
            lowered = device.kernels.lowered(plans[1], device.physical.limits)
            assert sum(len(low.dispatches) for low in lowered) == dispatches

    def _plan(self, order: Sequence[Node], roots: Sequence[Node], *, fusion: bool) -> Plan:
        given: Capabilities = self.device.capabilities()
        caps = given.model_copy(update={"fusion": fusion})
        made = schedule(order, roots, capabilities=caps)
        self._inputs = [order[i] for i in made.inputs]
        return made.plan

    def _run(self, device: Device, plan: Plan, order: Sequence[Node]) -> list[Array]:
        buffers = [device.upload(self.arrays[n.serial]) for n in self._inputs]
        results = device.compile(plan).run(buffers, [])
        slots = [plan.slots[s] for s in plan.outputs]
        return [device.download(b, s.shape, s.dtype) for b, s in zip(results, slots, strict=True)]


@pytest.fixture
def graph(device: Device) -> Graph:
    return Graph(device)


def bias(graph: Graph, shape: tuple[int, ...], axis: int) -> Node:
    """A leaf of one axis, expanded to a shape."""
    ones = tuple(d if i == axis else 1 for i, d in enumerate(shape))
    return build.expand(build.reshape(graph.leaf(shape[axis]), shape=ones), shape=shape)


SIZES = [(3, 4, 5), (1, 7, 1), (64, 64, 64), (70, 100, 33), (64, 1100, 64)]
"""One output an invocation, tiles whole and not, and slices of k."""


@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_matmul_with_bias_and_relu(graph: Graph, m: int, k: int, n: int) -> None:
    product = build.matmul(graph.leaf(m, k), graph.leaf(k, n))
    graph.check(build.relu(build.add(product, bias(graph, (m, n), 1))), dispatches=1 + (k > 512))


@pytest.mark.parametrize(("m", "k", "n"), SIZES)
def test_a_mask_and_two_results(graph: Graph, m: int, k: int, n: int) -> None:
    """The product is stored, and the masked one beside it."""
    product = build.matmul(graph.leaf(m, k), graph.leaf(k, n))
    other = graph.leaf(m, n)
    mask = build.greater(other, graph.leaf(m, n))
    graph.check(product, build.where(mask, product, build.mul(product, other)))


@pytest.mark.parametrize("channels", [2, 32])
def test_convolutions(graph: Graph, channels: int) -> None:
    x, w = graph.leaf(2, 3, 9, 8), graph.leaf(channels, 3, 3, 3)
    y = build.conv2d(x, w, stride=(1, 1), padding=(1, 1), dilation=(1, 1), groups=1)
    graph.check(build.relu(build.add(y, bias(graph, y.shape, 1))))


@pytest.mark.parametrize("outputs", [3, 32])
def test_gradients_of_convolutions(graph: Graph, outputs: int) -> None:
    x, w = graph.leaf(2, 24, 9, 8), graph.leaf(outputs, 24, 3, 3)
    g = graph.leaf(2, outputs, 9, 8)
    how: dict[str, Any] = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1), "groups": 1}
    gw = build.conv2d_weight_grad(x, g, kernel=(3, 3), **how)
    gx = build.conv2d_input_grad(g, w, image=(9, 8), **how)
    velocity = build.add(build.mul(graph.leaf(*w.shape), graph.leaf(*w.shape)), gw)
    graph.check(velocity, build.sub(w, velocity))
    graph.check(build.where(build.greater(x, graph.leaf(*x.shape)), gx, graph.leaf(*x.shape)))


REDUCED = [(5, 7), (3, 100), (2, 2100), (40, 33, 2), (3, 512), (2, 4, 4, 36)]


@pytest.mark.parametrize("op", ["sum", "amax", "amin", "prod"])
def test_a_reduction_of_the_results_of_chunks(graph: Graph, op: str) -> None:
    y = getattr(build, op)(graph.leaf(2, 1024 * 1024 + 9), axes=(1,))
    graph.check(build.mul(build.exp(build.neg(y)), graph.leaf(*y.shape)), dispatches=2)


@pytest.mark.parametrize("shape", REDUCED)
@pytest.mark.parametrize("op", ["sum", "amax", "amin", "prod"])
def test_reductions(graph: Graph, op: str, shape: tuple[int, ...]) -> None:
    for axis in range(len(shape)):
        y = getattr(build, op)(graph.leaf(*shape), axes=(axis,))
        graph.check(build.div(build.exp(build.neg(y)), graph.leaf(*y.shape)))


@pytest.mark.parametrize("op", ["max_pool2d", "avg_pool2d"])
def test_pooling(graph: Graph, op: str) -> None:
    how: dict[str, Any] = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0)}
    how |= {"dilation": (1, 1)} if op == "max_pool2d" else {}
    y = getattr(build, op)(graph.leaf(2, 3, 8, 6), **how)
    graph.check(build.mul(build.relu(y), bias(graph, y.shape, 1)))


WINDOWS = [(2, 2, 0, 1), (3, 2, 1, 1), (3, 1, 1, 1), (2, 1, 0, 2), (2, 3, 0, 1)]
"""Kernel, stride, padding, dilation: apart, overlapping, with holes and with pixels left out."""


@pytest.mark.parametrize("window", WINDOWS)
@pytest.mark.parametrize("like", [np.float32, np.float16])
def test_gradients_of_pooling(graph: Graph, window: tuple[int, ...], like: Any) -> None:
    names = "kernel", "stride", "padding", "dilation"
    how: dict[str, Any] = {n: (k, k) for n, k in zip(names, window, strict=True)}
    x = graph.leaf(2, 3, 9, 7, like=like)
    g = graph.leaf(*build.max_pool2d(x, **how).shape, like=like)
    back = build.max_pool2d_input_grad(g, x, **how)
    graph.check(back, dispatches=2)
    graph.check(build.where(build.greater(x, graph.leaf(*x.shape, like=like)), back, x))


@pytest.mark.parametrize("height", [1, 2, 3])
@pytest.mark.parametrize("follows", ["mask", "bias", "columns", "run", "half", "exp", "log", "two"])
def test_what_follows_windows_in_pairs(graph: Graph, height: int, follows: str) -> None:
    """Four results at a time, and every way in which an operand is read beside them."""
    how: dict[str, Any] = {"kernel": (height, 2), "stride": (height, 2)}
    how |= {"padding": (0, 0), "dilation": (1, 1)}
    x = graph.leaf(2, 3, 2 * height, 8)
    pooled = build.max_pool2d(x, **how)
    back = build.max_pool2d_input_grad(graph.leaf(*pooled.shape), x, **how)
    for y in (pooled, back):
        results = _followed(graph, y, follows)
        graph.check(*results, dispatches=1)


def _followed(graph: Graph, y: Node, follows: str) -> list[Node]:
    if follows == "mask":
        return [build.where(build.greater(graph.leaf(*y.shape), graph.leaf(*y.shape)), y, y)]
    if follows == "bias":
        return [build.relu(build.add(y, bias(graph, y.shape, 1)))]
    if follows == "columns":
        return [build.mul(y, bias(graph, y.shape, 3))]
    if follows == "run":
        flat = build.slice(
            graph.leaf(3 + size(y.shape)), start=(3,), length=(size(y.shape),), step=(1,)
        )
        return [build.sub(y, build.reshape(flat, shape=y.shape))]
    if follows == "half":
        return [build.mul(y, build.cast(graph.leaf(*y.shape, like=np.float16), dtype=y.dtype))]
    if follows == "exp":
        return [build.exp(build.neg(build.abs(y)))]
    if follows == "log":
        return [build.log(build.abs(y))]
    return [y, build.cast(build.mul(y, y), dtype=int64)]


def test_indices_are_checked(graph: Graph) -> None:
    how: dict[str, Any] = dict.fromkeys(("kernel", "stride"), (2, 2))
    how |= {"padding": (0, 0), "dilation": (1, 1)}
    where = build.max_pool2d_indices(graph.leaf(1, 2, 8, 6), **how)
    g = graph.leaf(*where.shape)
    graph.check(build.max_unpool2d(g, where, image=(9, 7)))
    graph.check(build.max_unpool2d(g, build.add(where, where), image=(16, 6)))
    with pytest.raises(IndexError_):
        graph.check(build.max_unpool2d(g, build.add(where, where), image=(8, 6)))


@pytest.mark.parametrize("seed", range(12))
def test_random_epilogues(graph: Graph, seed: int) -> None:
    dice = random.Random(seed)
    shape = dice.choice(((6, 10), (40, 48)))
    k = dice.choice((3, 300, 1030))
    y = build.matmul(graph.leaf(shape[0], k), graph.leaf(k, shape[1]))
    roots: list[Node] = []
    for _ in range(dice.randint(1, 9)):
        other = dice.choice((
            graph.leaf(*shape), bias(graph, shape, 0), bias(graph, shape, 1), y, y,
            build.cast(graph.leaf(*shape, like=np.float16), dtype=y.dtype),
        ))  # fmt: skip
        y = getattr(build, dice.choice(("add", "sub", "mul", "maximum", "div")))(y, other)
        if dice.random() < 0.3:
            y = getattr(build, dice.choice(("relu", "neg", "tanh", "floor")))(y)
        if dice.random() < 0.3:
            roots.append(y)
    graph.check(*dict.fromkeys([*roots, y]))

"""Graphs to schedule in tests: leaves on the null device, random programs and a training step."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast
from weakref import ref

import numpy as np
from null_device import NAME, NullDevice

from vkml_core.autograd import gradients
from vkml_core.backend import Capabilities
from vkml_core.dtypes import DType, float16, float32, int64
from vkml_core.graph import Node, Storage, build, const, data, full, pending_inputs, reachable
from vkml_core.ops.rules import flip
from vkml_core.ops.spec import REGISTRY
from vkml_core.schedule import Scheduled, schedule
from vkml_core.shapes import Shape, size

if TYPE_CHECKING:
    from vkml_core.tensor import Tensor

DEVICE = NullDevice()


def capabilities(
    *, fusion: bool = False, alignment: int = 64, side_by_side: bool = False
) -> Capabilities:
    """Give a device that runs every operation."""
    return Capabilities(
        ops=frozenset(REGISTRY), fusion=fusion, alignment=alignment, side_by_side=side_by_side
    )


def leaf(*shape: int, dtype: DType = float32) -> Node:
    """Make a leaf that holds new symbols."""
    return data(Storage(DEVICE.upload(np.zeros(shape, dtype.numpy)), DEVICE), shape, dtype, NAME)


def plan_of(
    roots: Sequence[Node],
    donate: Sequence[Node] = (),
    *,
    fusion: bool = False,
    alignment: int = 64,
    max_allocation: int | None = None,
    side_by_side: bool = False,
) -> Scheduled:
    """Schedule `roots`."""
    caps = capabilities(fusion=fusion, alignment=alignment, side_by_side=side_by_side)
    caps = caps.model_copy(update={"max_allocation": max_allocation})
    order = reachable(roots, pending_inputs)
    return schedule(order, roots, donate=frozenset(donate), capabilities=caps)


@dataclass
class Program:
    """A random graph: every node in order, its leaves, and the dice."""

    dice: random.Random
    nodes: list[Node] = field(default_factory=list)
    leaves: list[Node] = field(default_factory=list)

    def grow(self, count: int) -> None:
        """Add `count` leaves and operations, leaves first."""
        for _ in range(self.dice.randint(1, 4)):
            dims = [self.dice.randint(0 if self.dice.random() < 0.05 else 1, 4) for _ in range(4)]
            shape = tuple(dims[: self.dice.randint(0, 3)])
            if self.leaves and self.dice.random() < 0.5:
                shape = self.leaves[-1].shape
            self.leaves.append(leaf(*shape, dtype=self.dice.choice((float32, float32, float16))))
        self.nodes.extend(self.leaves)
        moves = [*([self._unary] * 3), *([self._binary] * 4), *([self._view] * 5)]
        moves += [self._reduce, self._matmul, self._other, self._assign, self._assign]
        while len(self.nodes) < count:
            moved = self.dice.choice(moves)()
            self.nodes.extend(n for n in moved if size(n.shape) <= 256)

    def _pick(self) -> Node:
        recent = self.nodes[-6:] if self.dice.random() < 0.7 else self.nodes
        return self.dice.choice(recent)

    def _partner(self, node: Node) -> Node:
        """Find a node of the same type, or make one from a number."""
        like = [n for n in self.nodes if n.shape == node.shape and n.dtype is node.dtype]
        if self.dice.random() < 0.3:
            return const(node, self.dice.choice((0.5, 1.0, 2.0)))
        return self.dice.choice(like)

    def _unary(self) -> list[Node]:
        x = self._pick()
        if self.dice.random() < 0.2:
            return [build.cast(x, dtype=self.dice.choice((float32, float16)))]
        return [getattr(build, self.dice.choice(("neg", "abs", "relu")))(x)]

    def _binary(self) -> list[Node]:
        x = self._pick()
        y = self._partner(x)
        if self.dice.random() < 0.1:
            return [build.where(build.less(x, y), x, y)]
        return [getattr(build, self.dice.choice(("add", "sub", "mul", "maximum")))(x, y)]

    def _view(self) -> list[Node]:
        x, rank = self._pick(), 0
        rank = len(x.shape)
        choice = self.dice.randrange(5)
        if choice == 0:
            return [build.permute(x, axes=tuple(self.dice.sample(range(rank), rank)))]
        if choice == 1:
            return [build.reshape(x, shape=self._factors(size(x.shape)))]
        if choice == 2:
            lead = (self.dice.randint(1, 3),) if rank < 4 else ()
            dims = tuple(self.dice.randint(1, 3) if d == 1 else d for d in x.shape)
            return [build.expand(x, shape=(*lead, *dims))]
        if choice == 3:
            return [self._sliced(x)]
        return [build.detach(x)]

    def _factors(self, n: int) -> Shape:
        if n == 0:
            return (0, self.dice.randint(1, 3))
        dims = []
        for _ in range(3):
            d = self.dice.choice([k for k in range(1, n + 1) if n % k == 0])
            dims.append(d)
            n //= d
        return (*dims, n)

    def _sliced(self, x: Node) -> Node:
        start, length, step = [], [], []
        for d in x.shape:
            k = self.dice.choice((-2, -1, 1, 1, 2))
            first = self.dice.randrange(d) if d else 0
            room = (first if k < 0 else d - 1 - first) // abs(k) + 1 if d else 0
            start.append(first)
            length.append(self.dice.randint(min(1, room), room))
            step.append(k)
        return build.slice(x, start=tuple(start), length=tuple(length), step=tuple(step))

    def _reduce(self) -> list[Node]:
        x = self._pick()
        axes = [a for a in range(len(x.shape)) if self.dice.random() < 0.5]
        return [build.sum(x, axes=tuple(axes))]

    def _matmul(self) -> list[Node]:
        x = self._pick()
        if len(x.shape) < 2:
            return []
        rank = len(x.shape)
        turned = build.permute(x, axes=(*range(rank - 2), rank - 1, rank - 2))
        return [build.matmul(*self.dice.choice(((x, turned), (turned, x))))]

    def _other(self) -> list[Node]:
        x = self._pick()
        choice = self.dice.randrange(4)
        if choice == 0 and x.shape:
            return [build.cumsum(x, axis=self.dice.randrange(len(x.shape)))]
        if choice == 1 and x.shape:
            return [build.cat(x, self._partner(x), axis=self.dice.randrange(len(x.shape)))]
        if choice == 2:
            seed, offset = (full((), self.dice.randint(0, 2), int64, NAME) for _ in range(2))
            bits = build.random_bits(seed, offset, shape=x.shape, bits=24)
            return [build.cast(bits, dtype=float32)]
        return [build.contiguous(x)]

    def _assign(self) -> list[Node]:
        """Assign to a leaf, or to what was assigned to one before; mostly something new."""
        held = [n for n in self.nodes if n in self.leaves or n.op.name == "assign"]
        dest = self.dice.choice(held)
        source = self._partner(dest)
        if self.dice.random() < 0.8:
            source = build.sub(source, self._partner(dest))
        if self.dice.random() < 0.3:
            source = flip(source, range(len(source.shape)))
        return [build.assign(dest, source)]


def parameter(*shape: int) -> Node:
    """Make a leaf of autograd."""
    node = leaf(*shape)
    node.requires_grad = True
    node.owner = ref(cast("Tensor", node))  # only its presence counts
    return node


def training_step(batch: int = 8) -> tuple[list[Node], list[Node]]:
    """Give roots and donated leaves of a two-layer network's step: loss, momenta, parameters."""
    x, target = leaf(batch, 6), leaf(batch, 3)
    weights = [parameter(6, 5), parameter(5), parameter(5, 3), parameter(3)]
    w1, b1, w2, b2 = weights
    hidden = build.relu(build.matmul(x, w1) + build.expand(b1, shape=(batch, 5)))
    off = build.matmul(hidden, w2) + build.expand(b2, shape=(batch, 3)) - target
    loss = build.sum(off * off, axes=(0, 1)) / float(batch)
    found = gradients([(loss, const(loss, 1.0))])
    roots, donated = [loss], []
    for w in weights:
        momentum = leaf(*w.shape)
        moved = momentum * 0.9 + found[w.serial]
        roots += [build.assign(momentum, moved), build.assign(w, w - moved * 0.1)]
        donated += [w, momentum]
    return roots, donated

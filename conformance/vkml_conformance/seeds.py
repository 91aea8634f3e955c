"""Random numbers are a function of seed, offset and index: the checks of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

import vkml
from vkml import Tensor
from vkml_conformance.check import Check
from vkml_conformance.engine import ORACLE, compute
from vkml_conformance.operands import Shape
from vkml_conformance.values import Array, bits
from vkml_core import graph

WIDTHS: Final = (1, 24, 31)
"""Bits of a word that are drawn, of those that the row takes."""
SIZES: Final = (*range(10), 31, 32, 33, 1023, 1024, 1025)
RANKS: Final[tuple[Shape, ...]] = ((), (3, 5), (2, 3, 5), (3, 5, 2, 7), (2, 0, 3), (257, 5))
SHAPES: Final[tuple[Shape, ...]] = (*((n,) for n in SIZES), *RANKS)
LONGER: Final = 5
"""Elements by which a longer draw is longer: not a multiple of the four words of a counter."""
Draw = Callable[[Shape, int, int, str], Tensor]
"""(shape, seed, offset, device) → numbers."""


def _dropout(shape: Shape, seed: int, offset: int, device: str) -> Tensor:
    ones = vkml.ones(shape, dtype=vkml.float32, device=device)
    return vkml.dropout(ones, 0.25, seed=seed, offset=offset)


def _bits(width: int) -> Draw:
    def draw(shape: Shape, seed: int, offset: int, device: str) -> Tensor:
        numbers = [graph.full((), n, vkml.int64, device) for n in (seed, offset)]
        return Tensor(graph.build.random_bits(*numbers, shape=shape, bits=width))

    return draw


DRAWS: Final[dict[str, tuple[str, str, Draw]]] = {
    **{str(width): ("random_bits", "int64", _bits(width)) for width in WIDTHS},
    "rand": ("rand", "float32", lambda s, k, o, d: vkml.rand(s, seed=k, offset=o, device=d)),
    "randn": ("randn", "float32", lambda s, k, o, d: vkml.randn(s, seed=k, offset=o, device=d)),
    "randint": (
        "randint",
        "int64",
        lambda s, k, o, d: vkml.randint(-7, 1000, s, seed=k, offset=o, device=d),
    ),
    "dropout": ("dropout", "float32", _dropout),
}
"""What draws: the operation, its dtype, the function."""


def _unseeded(shape: Shape, seed: int, device: str) -> list[Tensor]:
    """Draw twice with each function that `manual_seed` seeds; the second draw is another."""
    vkml.manual_seed(seed)
    ones = vkml.ones(shape, dtype=vkml.float32, device=device)
    return [
        draw
        for _ in range(2)
        for draw in (
            vkml.rand(shape, device=device),
            vkml.randn(shape, device=device),
            vkml.randint(0, 9, shape, device=device),
            vkml.dropout(ones),
        )
    ]


@dataclass(frozen=True)
class SeedSubject:
    """Draws of one shape. The leaf holds (seed, offset) and tells the device."""

    name: str
    shape: Shape
    seed: int
    offset: int

    @property
    def results(self) -> tuple[str, ...]:
        """A draw, its beginning drawn with more, then with another seed and another offset."""
        return ("draw", "beginning of a longer draw", "another seed", "another offset")

    def leaves(self) -> list[Array]:
        """Give seed and offset as one int64 array."""
        return [np.array([self.seed, self.offset], np.int64)]

    def record(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Record the draws on the leaf's device."""
        (_, _, draw), device = DRAWS[self.name], leaves[0].device
        count = int(np.prod(self.shape))
        longer = draw((count + LONGER,), self.seed, self.offset, device)
        return [
            draw(self.shape, self.seed, self.offset, device),
            longer[:count].reshape(self.shape),
            draw(self.shape, self.seed ^ 1, self.offset, device),
            draw(self.shape, self.seed, self.offset + 1, device),
        ]

    def wanted(self) -> list[Array]:
        """Give the oracle's draws; the beginning of a longer draw is the draw itself."""
        found = compute(self.leaves(), self, ORACLE)
        return [found[0], found[0], *found[2:]]

    def held(self, wanted: Sequence[Array]) -> list[Array]:
        """Promise everything: no random number is subnormal."""
        return [np.ones(w.shape, np.bool_) for w in wanted]


@dataclass(frozen=True)
class UnseededSubject:
    """Draws that follow `manual_seed`. The leaf tells the device."""

    shape: Shape
    seed: int

    @property
    def results(self) -> tuple[str, ...]:
        """Each function's first draw, then each one's second."""
        names = ("rand", "randn", "randint", "dropout")
        return tuple(f"{which} {name}" for which in ("first", "second") for name in names)

    def leaves(self) -> list[Array]:
        """Give the seed."""
        return [np.array([self.seed], np.int64)]

    def record(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Seed anew and record the draws."""
        return _unseeded(self.shape, self.seed, leaves[0].device)

    def wanted(self) -> list[Array]:
        """Give the oracle's draws."""
        return compute(self.leaves(), self, ORACLE)

    def held(self, wanted: Sequence[Array]) -> list[Array]:
        """Promise everything: no random number is subnormal."""
        return [np.ones(w.shape, np.bool_) for w in wanted]


def derive(seed: int = 0) -> Iterator[Check]:
    """Give the checks of every function and shape: `seed/<bits or name>/<shape>`."""
    for shape in SHAPES:
        told = "x".join(map(str, shape)) or "scalar"
        for name, (op, dtype, _) in DRAWS.items():
            key, offset = (int(n) >> 2 for n in bits(f"{name} {told} {seed}", (2,), np.uint64))
            subject = SeedSubject(name, shape, key, offset)
            yield _check(f"{name}/{told}", op, dtype, subject, seed)
        yield _check(f"manual_seed/{told}", "rand", "float32", UnseededSubject(shape, seed), seed)


def _check(
    name: str, op: str, dtype: str, subject: SeedSubject | UnseededSubject, seed: int
) -> Check:
    return Check(
        id=f"seed/{name}" + (f"@{seed}" if seed else ""),
        family="invariance",
        op=op,
        dtype=dtype,
        part="seed",
        subject=subject,
        about={"shape": str(subject.shape), "seed": str(subject.seed)},
    )

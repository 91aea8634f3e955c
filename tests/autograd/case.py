"""What a case of a derivative is, and the numbers that cases are made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

import numpy as np
import torch
import torch.nn.functional as F

import vkml
from vkml import Tensor
from vkml_core.graph import build

from .evaluate import Array

Maker = Callable[[np.random.Generator], Array]


@dataclass(frozen=True)
class Case:
    """`function(m, *inputs)` works with m = vkml, and with m = TORCH where no reference is given.

    The name's first word is the row or public function that the case is about.
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[Maker, ...]
    reference: Callable[..., Any] | None = None

    def arrays(self) -> list[Array]:
        """Give the inputs: float32 numbers that depend on the name only."""
        rng = np.random.default_rng(crc32(self.name.encode()))
        return [make(rng).astype(np.float32) for make in self.inputs]

    def of_torch(self, *inputs: Any) -> Any:
        """Compute the outputs with PyTorch."""
        if self.reference is not None:
            return self.reference(*inputs)
        return self.function(TORCH, *inputs)


class _Torch:
    """PyTorch's functions, wherever they live."""

    def __getattr__(self, name: str) -> Any:
        return getattr(F, name, None) or getattr(torch, name)


TORCH: Final = _Torch()


def real(*shape: int) -> Maker:
    """Make numbers between −2 and 2."""
    return lambda rng: rng.uniform(-2, 2, shape)


def positive(*shape: int) -> Maker:
    """Make numbers between ½ and 2."""
    return lambda rng: rng.uniform(0.5, 2, shape)


def unit(*shape: int) -> Maker:
    """Make numbers between −0.9 and 0.9."""
    return lambda rng: rng.uniform(-0.9, 0.9, shape)


def apart(*shape: int) -> Maker:
    """Make different multiples of ⅛, none of them a multiple of ¼."""

    def make(rng: np.random.Generator) -> Array:
        n = int(np.prod(shape))
        return ((rng.permutation(n) - n // 2) * 0.75 + 0.375).reshape(shape)

    return make


def given(*values: Any) -> Maker:
    """Give these numbers."""
    return lambda rng: np.array(values[0] if len(values) == 1 else values)


def row(name: str, *inputs: Tensor, **attrs: Any) -> Tensor:
    """Record one row."""
    return Tensor(getattr(build, name)(*(t.node for t in inputs), **attrs))


def ints(values: Any) -> Tensor:
    """Make an int64 tensor."""
    made: Tensor = vkml.tensor(np.array(values, np.int64))
    return made


def same(name: str, *inputs: Maker) -> Case:
    """Make a case of a function that has the same name and arguments in vkml and PyTorch."""
    return Case(name, lambda m, *xs: getattr(m, name.split()[0])(*xs), inputs)

"""Layout classes: how the elements of an operand lie in the memory that is uploaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from vkml import Tensor
from vkml_conformance.values import Array

_FIRST: Final = 2
"""Elements before the first one of a sliced axis."""
_JUNK: Final = 77


def _same(x: Any) -> Any:
    return x


@dataclass(frozen=True)
class Layout:
    """Memory and the views that lead from it back to the operand."""

    name: str
    logical: Callable[[Array], Array]
    """Changes values that this layout cannot hold: those along repeated axes."""
    memory: Callable[[Array], Array]
    view: Callable[[Tensor, tuple[int, ...]], Tensor]
    """From a tensor of the memory to one of the operand's shape."""
    ranks: range = range(5)


def _transpose(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    return tensor.permute(tuple(reversed(range(len(shape)))))


def _cut(shape: tuple[int, ...]) -> tuple[slice | int, ...]:
    """Index every second element from the third on, the last axis backwards."""
    if not shape:
        return (_FIRST,)
    forward = [slice(_FIRST, _FIRST + 2 * d, 2) for d in shape]
    last = shape[-1]
    backward = slice(_FIRST + 2 * last - 2, _FIRST - 1 if last else _FIRST, -2)
    return (*forward[:-1], backward if last else slice(0, 0))


def _sliced(x: Array) -> Array:
    room = tuple(_FIRST + 2 * d + 1 for d in x.shape) or (_FIRST + 1,)
    memory = np.full(room, _JUNK, x.dtype)
    memory[_cut(x.shape)] = x
    return memory


def _kept(x: Array) -> tuple[slice, ...]:
    """Keep one element along every other axis, the last one included, where there is one."""
    return tuple(slice(None if (x.ndim - a) % 2 == 0 else 1) for a in range(x.ndim))


def _repeated(x: Array) -> Array:
    return np.broadcast_to(x[_kept(x)], x.shape).copy()


LAYOUTS: Final[tuple[Layout, ...]] = (
    Layout("contiguous", _same, _same, lambda t, shape: t),
    Layout("transposed", _same, lambda x: x.transpose().copy(), _transpose, range(2, 5)),
    Layout("sliced", _same, _sliced, lambda t, shape: t[_cut(shape)]),
    Layout(
        "broadcast",
        _repeated,
        lambda x: x[_kept(x)].copy(),
        lambda t, shape: t.expand(shape),
        range(1, 5),
    ),
)


def cycle(first: int, operands: int) -> tuple[Layout, ...]:
    """Give each operand its own layout, beginning with one of the table."""
    return tuple(LAYOUTS[(first + i) % len(LAYOUTS)] for i in range(operands))

"""What fails: operations whose operands decide at run time whether there is a result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

import vkml
from vkml import Tensor
from vkml_core.errors import DivisionError, Error, IndexError_
from vkml_core.graph import build

COUNT: Final = 6
"""Elements along the axis of the indices."""
WIDE: Final = 40


def whole(numbers: Sequence[int], like: Tensor) -> Tensor:
    """Upload int64 to the device of a tensor."""
    return vkml.tensor(np.array(numbers, np.int64), device=like.device)


def _gather(x: Tensor, index: int) -> Tensor:
    return x.index_select(0, whole([0, index, 2], x)).sum(0)


def _scatter(x: Tensor, index: int) -> Tensor:
    rows = whole([1, 0, 5, index, 3, 2], x)
    return vkml.scatter_add(x, 0, rows, COUNT)[0]


def label_loss(x: Tensor, index: int) -> Tensor:
    """Give the loss of labels of which one is `index`."""
    loss = vkml.cross_entropy(x.transpose(0, 1), whole([0] * (WIDE - 1) + [index], x))
    return loss.expand(WIDE)


def _unpool(x: Tensor, place: int) -> Tensor:
    values = x[:, :4].reshape(1, COUNT, 2, 2)
    places = whole([0, 1, 2, 3] * (COUNT - 1) + [0, 1, 2, place], x).reshape(1, COUNT, 2, 2)
    unpooled = Tensor(build.max_unpool2d(values.node, places.node, image=(2, 3)))
    return unpooled.sum((0, 1, 2, 3)).expand(WIDE)


def _integers(op: str, first: int) -> Callable[[Tensor, int], Tensor]:
    """Make the failure of an integer operation by one of its second operands."""

    def make(x: Tensor, second: int) -> Tensor:
        numbers = whole([4, first, 16], x), whole([3, second, 2], x)
        found = Tensor(getattr(build, op)(*(n.node for n in numbers)))
        return found.sum().to(vkml.float32).expand(WIDE)

    return make


@dataclass(frozen=True)
class Failure:
    """What fails: a function of (COUNT, WIDE) floats and a number that decides, giving (WIDE,)."""

    op: str
    make: Callable[[Tensor, int], Tensor]
    good: int
    bad: int
    error: type[Error] = IndexError_


FAILURES: Final[dict[str, Failure]] = {
    "gather": Failure("gather", _gather, 5, COUNT),
    "gather-negative": Failure("gather", _gather, 5, -1),
    "gather-far": Failure("gather", _gather, 5, 1 << 32),
    "scatter_add": Failure("scatter_add", _scatter, 4, COUNT),
    "cross_entropy": Failure("gather", label_loss, 3, COUNT),
    "max_unpool2d": Failure("max_unpool2d", _unpool, 5, COUNT),
    "floor_divide": Failure("floor_divide", _integers("floor_divide", 9), 5, 0, DivisionError),
    "remainder": Failure("remainder", _integers("remainder", 9), 5, 0, DivisionError),
    "pow": Failure("pow", _integers("pow", 0), 5, -1, DivisionError),
}

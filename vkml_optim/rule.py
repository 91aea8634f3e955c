"""Rule: the mathematics of an optimiser, as pure functions of tensors and options."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final

from vkml_core.functional.creation import zeros, zeros_like
from vkml_core.tensor import Tensor

Options = dict[str, Any]
State = dict[str, Tensor]
Shared = tuple[Tensor, ...]
Existence = Mapping[str, Callable[[Options], bool]]
"""Names of state, and for which options each exists."""

STEP: Final = "step"
"""The state that counts a parameter's steps: a float32 tensor of rank 0, as in PyTorch."""


def always(options: Options) -> bool:
    """Whether a state exists that exists for all options."""
    return True


class Rule(ABC):
    """How one parameter and its state change in a step; nothing is computed or kept here.

    `state` declares the tensors of the state, in PyTorch's names and order, and for which options
    each exists. All of them start from zeros and, but for the count, are like the parameter.
    """

    state: ClassVar[Existence]

    def names(self, options: Options) -> list[str]:
        """Name the state that a parameter has under these options."""
        return [name for name, exists in self.state.items() if exists(options)]

    def init(self, param: Tensor, options: Options) -> State:
        """Give the state that a parameter starts with."""
        return {
            name: zeros(device=param.device) if name == STEP else zeros_like(param)
            for name in self.names(options)
        }

    def share(self, count: Tensor, options: Options) -> Shared:
        """Give what every parameter of a group needs in its step number `count`.

        It is worked out once for all of them. (Numbers are inputs of a plan, so the scheduler
        could not know that a hundred copies of it are equal.)
        """
        return ()

    @abstractmethod
    def update(
        self, grad: Tensor, state: State, param: Tensor, options: Options, shared: Shared = ()
    ) -> tuple[Tensor, State]:
        """Give the parameter's new value and the state that changes, but for the count."""


def lerp(start: Tensor, end: Tensor, weight: float) -> Tensor:
    """Go from `start` towards `end`, from the nearer of the two as PyTorch does.

    So a weight of 1 gives `end` exactly.
    """
    way = end - start
    return start + way * weight if weight < 0.5 else end - way * (1.0 - weight)

"""Dropout: zeroing random elements while training."""

from __future__ import annotations

from vkml_core.functional.common import probability_arg
from vkml_core.functional.normal import dropout
from vkml_core.tensor import Tensor
from vkml_nn.module import Module
from vkml_nn.random_state import SeededCalls


class Dropout(Module, SeededCalls):
    """In training, zero each element with probability p and scale the rest by 1/(1 − p).

    With `seed` the masks are a function of the seed and the number of calls so far, which
    `Module.random_state()` gives; without, of `vkml.manual_seed`. Srivastava et al. (2014).
    """

    def __init__(self, p: float = 0.5, seed: int | None = None) -> None:
        super().__init__()
        self.p = probability_arg(p, "Dropout: p")
        self.seed = seed
        self.calls = 0

    def forward(self, input: Tensor) -> Tensor:
        """Apply the layer."""
        if not self.training:
            return input
        return dropout(input, self.p, *self.next_call())

    def extra_repr(self) -> str:
        """Say the probability."""
        return f"p={self.p}, inplace=False"

"""SGD: stochastic gradient descent with momentum."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from vkml_core.errors import ArgumentError
from vkml_core.functional.common import bool_arg
from vkml_core.functional.creation import zeros_like
from vkml_core.tensor import Tensor
from vkml_optim.checks import non_negative
from vkml_optim.optimizer import Optimizer, Options, Rule, State


class SGDRule:
    """The update of SGD as pure functions."""

    def init(self, param: Tensor, options: Options) -> State:
        """Start from momentum 0, so that the first buffer is the gradient."""
        return {"momentum_buffer": zeros_like(param)} if options["momentum"] else {}

    def update(
        self, grad: Tensor, state: State, param: Tensor, options: Options
    ) -> tuple[Tensor, State]:
        """Give p − lr · d, as the class says."""
        decay, momentum = options["weight_decay"], options["momentum"]
        d = grad + param * decay if decay else grad
        if momentum:
            buffer = state["momentum_buffer"] * momentum + d
            state = {"momentum_buffer": buffer}
            d = d + buffer * momentum if options["nesterov"] else buffer
        return param - d * options["lr"], state


class SGD(Optimizer):
    """Stochastic gradient descent; each operation below is rounded on its own.

    g is the gradient; every term in brackets is there only if its option is not 0:
        d = g [+ weight_decay · p]
        b = momentum · b + d, b = 0 before the first step; d = b, or d + momentum · b if nesterov
        p = p − lr · d
    Source: Sutskever et al. (2013), in PyTorch's form.
    """

    rule: ClassVar[Rule] = SGDRule()

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        options = {
            "lr": lr,
            "momentum": momentum,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
        }
        super().__init__(params, options)

    def check(self, options: Options) -> None:
        """Raise ArgumentError for negative numbers and for nesterov without momentum."""
        for name in ("lr", "momentum", "weight_decay"):
            non_negative(options[name], f"SGD: {name}")
        if bool_arg(options["nesterov"], "SGD: nesterov") and not options["momentum"]:
            raise ArgumentError("SGD: nesterov needs momentum > 0")

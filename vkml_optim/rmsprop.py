"""RMSProp: steps divided by a running root mean square of the gradient."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from vkml_core.tensor import Tensor
from vkml_optim.checks import flag, fraction, non_negative
from vkml_optim.optimizer import Optimizer
from vkml_optim.options import CAPTURABLE, DIFFERENTIABLE, FOREACH, MAXIMIZE, Option
from vkml_optim.rule import STEP, Existence, Options, Rule, Shared, State, always, lerp


class RMSPropRule(Rule):
    """The update of RMSProp; its count is kept, as PyTorch keeps it, and not used."""

    state: ClassVar[Existence] = {
        STEP: always,
        "square_avg": always,
        "momentum_buffer": lambda options: options["momentum"] > 0,
        "grad_avg": lambda options: options["centered"],
    }

    def update(
        self, grad: Tensor, state: State, param: Tensor, options: Options, shared: Shared = ()
    ) -> tuple[Tensor, State]:
        """Give p − lr · g / (√v + eps), as the class says."""
        alpha, momentum = options["alpha"], options["momentum"]
        g = grad + param * options["weight_decay"] if options["weight_decay"] else grad
        square = state["square_avg"] * alpha + g * (1.0 - alpha) * g
        changed, spread = {"square_avg": square}, square
        if options["centered"]:
            mean = changed["grad_avg"] = lerp(state["grad_avg"], g, 1.0 - alpha)
            spread = square - mean * mean
        root = spread.sqrt() + options["eps"]
        if not momentum:
            return param - g * options["lr"] / root, changed
        buffer = changed["momentum_buffer"] = state["momentum_buffer"] * momentum + g / root
        return param - buffer * options["lr"], changed


class RMSProp(Optimizer):
    """RMSProp; each operation below is rounded on its own, from left to right.

    g is the gradient (−g if maximize); a term in brackets is there only if its option is not 0:

        g = g [+ weight_decay · p]
        s = alpha · s + (1 − alpha) · g · g, s = 0 before the first step; v = s
        m = m + (g − m) · (1 − alpha) and v = s − m · m if centered
        p = p − lr · g / (√v + eps), or with momentum
        b = momentum · b + g / (√v + eps); p = p − lr · b

    Source: Tieleman and Hinton (2012), centered as in Graves (2013), in PyTorch's form. PyTorch's
    capturable, foreach and differentiable are not there; their neutral values are taken.
    """

    rule: ClassVar[Rule] = RMSPropRule()
    options: ClassVar[Mapping[str, Option]] = {
        "lr": Option(non_negative),
        "momentum": Option(non_negative),
        "alpha": Option(fraction),
        "eps": Option(non_negative),
        "centered": Option(flag),
        "weight_decay": Option(non_negative),
        "capturable": CAPTURABLE,
        "foreach": FOREACH,
        "maximize": MAXIMIZE,
        "differentiable": DIFFERENTIABLE,
    }

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        momentum: float = 0.0,
        centered: bool = False,
        **others: Any,
    ) -> None:
        own = {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, own | {"momentum": momentum, "centered": centered} | others)


RMSprop = RMSProp
"""PyTorch's spelling."""

"""SGD: stochastic gradient descent with momentum."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from vkml_core.errors import ArgumentError
from vkml_core.tensor import Tensor
from vkml_optim.checks import flag, non_negative
from vkml_optim.optimizer import Optimizer
from vkml_optim.options import DIFFERENTIABLE, FOREACH, FUSED, MAXIMIZE, Option, absent
from vkml_optim.rule import Existence, Options, Rule, Shared, State


class SGDRule(Rule):
    """The update of SGD; momentum starts from 0, so that the first buffer is the gradient."""

    state: ClassVar[Existence] = {"momentum_buffer": lambda options: options["momentum"] > 0}

    def update(
        self, grad: Tensor, state: State, param: Tensor, options: Options, shared: Shared = ()
    ) -> tuple[Tensor, State]:
        """Give p − lr · d, as the class says."""
        decay, momentum = options["weight_decay"], options["momentum"]
        d = grad + param * decay if decay else grad
        changed: State = {}
        if momentum:
            buffer = state["momentum_buffer"] * momentum + d
            changed = {"momentum_buffer": buffer}
            d = d + buffer * momentum if options["nesterov"] else buffer
        return param - d * options["lr"], changed


class SGD(Optimizer):
    """Stochastic gradient descent; each operation below is rounded on its own.

    g is the gradient (−g if maximize); a term in brackets is there only if its option is not 0:

        d = g [+ weight_decay · p]
        b = momentum · b + d, b = 0 before the first step; d = b, or d + momentum · b if nesterov
        p = p − lr · d

    Source: Sutskever et al. (2013), in PyTorch's form. PyTorch's dampening, foreach,
    differentiable and fused are not there; their neutral values are taken.

    >>> import vkml
    >>> p = vkml.tensor([1.0, 2.0], requires_grad=True)
    >>> optimizer = SGD([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p
    tensor([0., 0.], requires_grad=True)
    """

    rule: ClassVar[Rule] = SGDRule()
    options: ClassVar[Mapping[str, Option]] = {
        "lr": Option(non_negative),
        "momentum": Option(non_negative),
        "dampening": absent(0.0),
        "weight_decay": Option(non_negative),
        "nesterov": Option(flag),
        "maximize": MAXIMIZE,
        "foreach": FOREACH,
        "differentiable": DIFFERENTIABLE,
        "fused": FUSED,
    }

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-2,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
        **others: Any,
    ) -> None:
        own = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay, "nesterov": nesterov}
        super().__init__(params, own | others)

    def check(self, options: Options, what: str) -> None:
        """Raise ArgumentError for nesterov without momentum."""
        if options["nesterov"] and not options["momentum"]:
            raise ArgumentError(f"{what}: nesterov needs momentum > 0")

"""Adam and AdamW: steps from running moments of the gradient."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from vkml_core.tensor import Tensor
from vkml_optim.checks import flag, non_negative, two_betas
from vkml_optim.optimizer import Optimizer
from vkml_optim.options import (
    CAPTURABLE,
    DIFFERENTIABLE,
    FOREACH,
    FUSED,
    MAXIMIZE,
    Option,
    absent,
)
from vkml_optim.rule import STEP, Existence, Options, Rule, Shared, State, always, lerp


def correction(beta: float, count: Tensor) -> Tensor:
    """Give 1 − beta^count as −expm1(count · ln beta), which is exact to a few units.

    The difference 1 − pow(beta, count) would lose most digits in float32 where beta is near 1.
    """
    return -(count * (math.log(beta) if beta else -math.inf)).expm1()


class AdamRule(Rule):
    """The update of Adam, and of AdamW with `decoupled_weight_decay`."""

    state: ClassVar[Existence] = {STEP: always, "exp_avg": always, "exp_avg_sq": always}

    def share(self, count: Tensor, options: Options) -> Shared:
        """Give lr / (1 − beta₁ᵗ) and √(1 − beta₂ᵗ) for t = count."""
        first, second = (correction(beta, count) for beta in options["betas"])
        return options["lr"] / first, second.sqrt()

    def update(
        self, grad: Tensor, state: State, param: Tensor, options: Options, shared: Shared = ()
    ) -> tuple[Tensor, State]:
        """Give p − rate · m / (√v / root + eps); `state` is that of the step before."""
        rate, root = shared or self.share(state[STEP] + 1.0, options)
        (beta1, beta2), decay = options["betas"], options["weight_decay"]
        if decay and options["decoupled_weight_decay"]:
            param = param * (1.0 - options["lr"] * decay)
        elif decay:
            grad = grad + param * decay
        mean = lerp(state["exp_avg"], grad, 1.0 - beta1)
        square = state["exp_avg_sq"] * beta2 + grad * (1.0 - beta2) * grad
        scale = square.sqrt() / root + options["eps"]
        return param - mean * rate / scale, {"exp_avg": mean, "exp_avg_sq": square}


class Adam(Optimizer):
    """Adam; each operation below is rounded on its own, from left to right.

    g is the gradient (−g if maximize), t the number of the step, m and v start from 0:

        g = g + weight_decay · p, if it is not 0 (AdamW: p = p · (1 − lr · weight_decay))
        m = m + (g − m) · (1 − beta₁)
        v = beta₂ · v + (1 − beta₂) · g · g
        p = p − lr / (1 − beta₁ᵗ) · m / (√v / √(1 − beta₂ᵗ) + eps)

    t is state on the device ("step", float32), and so are the corrections, as −expm1(t · ln beta).
    Source: Kingma and Ba (2015), in PyTorch's form. PyTorch's amsgrad, foreach, capturable,
    differentiable and fused are not there; their neutral values are taken.

    >>> import vkml
    >>> p = vkml.tensor([1.0, -2.0], requires_grad=True)
    >>> optimizer = Adam([p], lr=0.5)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> p, optimizer.state[p]["step"]
    (tensor([ 0.5000, -1.5000], requires_grad=True), tensor(1.))
    """

    rule: ClassVar[Rule] = AdamRule()
    options: ClassVar[Mapping[str, Option]] = {
        "lr": Option(non_negative),
        "betas": Option(two_betas),
        "eps": Option(non_negative),
        "weight_decay": Option(non_negative),
        "amsgrad": absent(False),
        "maximize": MAXIMIZE,
        "foreach": FOREACH,
        "capturable": CAPTURABLE,
        "differentiable": DIFFERENTIABLE,
        "fused": FUSED,
        "decoupled_weight_decay": Option(flag, False),
    }

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        **others: Any,
    ) -> None:
        own = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, own | others)


class AdamW(Adam):
    """Adam with weight decay that does not pass through the moments (see `Adam`).

    Source: Loshchilov and Hutter (2019), in PyTorch's form.
    """

    options: ClassVar[Mapping[str, Option]] = {
        **Adam.options,
        "decoupled_weight_decay": absent(True),
    }

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        **others: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, **others)

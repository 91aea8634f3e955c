"""Losses as modules."""

from __future__ import annotations

from typing import ClassVar

from vkml_core.errors import ArgumentError
from vkml_core.functional import losses
from vkml_core.functional.common import bool_arg, choice_arg, number_arg, probability_arg
from vkml_core.shapes import to_int
from vkml_core.tensor import Tensor
from vkml_nn.functional import KL_REDUCTIONS, kl_div
from vkml_nn.module import Module


class Loss(Module):
    """A loss whose values are averaged ("mean"), added ("sum") or given one by one ("none")."""

    reductions: ClassVar[tuple[str, ...]] = losses.REDUCTIONS

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        what = f"{type(self).__name__}: reduction"
        self.reduction = choice_arg(reduction, what, self.reductions)


class MSELoss(Loss):
    """(x − y)², by default its mean."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Give the loss of predictions and targets."""
        return losses.mse_loss(input, target, self.reduction)


class L1Loss(Loss):
    """|x − y|, by default its mean."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Give the loss of predictions and targets."""
        return losses.l1_loss(input, target, self.reduction)


class HuberLoss(Loss):
    """½ d² where d = |x − y| ≤ delta, else delta · (d − ½ delta); Huber (1964)."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = number_arg(delta, "HuberLoss: delta")
        if not self.delta > 0.0:
            raise ArgumentError(f"HuberLoss: delta: expected a number > 0, got {self.delta}")

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Give the loss of predictions and targets."""
        return losses.huber_loss(input, target, self.reduction, self.delta)


class KLDivLoss(Loss):
    """target · (ln target − input) for logarithms of probabilities as input.

    Reduction "batchmean" is the sum divided by the batch's size, the divergence as it is defined;
    "mean" divides by the number of elements, as in PyTorch. With `log_target` the targets are
    logarithms too.
    """

    reductions = KL_REDUCTIONS

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__(reduction)
        self.log_target = bool_arg(log_target, "KLDivLoss: log_target")

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Give the loss of logarithms of probabilities, and of targets."""
        return kl_div(input, target, self.reduction, self.log_target)


class BCEWithLogitsLoss(Loss):
    """−y ln σ(x) − (1 − y) ln(1 − σ(x)) for logits x and targets y from 0 to 1.

    `weight` scales the losses and `pos_weight` those of the positives; both broadcast.
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Give the loss of logits and targets."""
        how = (self.weight, self.reduction, self.pos_weight)
        return losses.binary_cross_entropy_with_logits(input, target, *how)


class NLLLoss(Loss):
    """−input[label] for log-probabilities (N, C, …) or (C,); as `vkml.nll_loss`."""

    weight: Tensor | None

    def __init__(
        self, weight: Tensor | None = None, ignore_index: int = -100, reduction: str = "mean"
    ) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = to_int(ignore_index, "NLLLoss: ignore_index")

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Give the loss of log-probabilities and labels."""
        return losses.nll_loss(input, target, self.weight, self.ignore_index, self.reduction)


class CrossEntropyLoss(Loss):
    """−ln softmax(input)[label]; the arguments are those of `vkml.cross_entropy`."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(reduction)
        self.register_buffer("weight", weight)
        self.ignore_index = to_int(ignore_index, "CrossEntropyLoss: ignore_index")
        self.label_smoothing = probability_arg(label_smoothing, "CrossEntropyLoss: label_smoothing")

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Give the loss of logits and labels."""
        how = (self.ignore_index, self.reduction, self.label_smoothing)
        return losses.cross_entropy(input, target, self.weight, *how)

"""Losses as modules."""

from __future__ import annotations

from vkml_core.functional.common import choice_arg
from vkml_core.functional.losses import REDUCTIONS, cross_entropy, mse_loss
from vkml_core.tensor import Tensor
from vkml_nn.module import Module


class CrossEntropyLoss(Module):
    """−ln softmax(input)[label]; the arguments are those of `vkml.cross_entropy`."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        ignore_index: int = -100,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        self.register_buffer("weight", weight)
        self.ignore_index = ignore_index
        self.reduction = choice_arg(reduction, "CrossEntropyLoss: reduction", REDUCTIONS)
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Give the loss of logits and labels."""
        how = (self.ignore_index, self.reduction, self.label_smoothing)
        return cross_entropy(input, target, self.weight, *how)


class MSELoss(Module):
    """(x − y)², by default its mean."""

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = choice_arg(reduction, "MSELoss: reduction", REDUCTIONS)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Give the loss of predictions and targets."""
        return mse_loss(input, target, self.reduction)

"""The layers' functions under the names that PyTorch keeps in torch.nn.functional."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import vkml_core.methods  # fills the public table  # noqa: F401
from vkml_core.public import PUBLIC
from vkml_core.tensor import Tensor

_NAMES: Final = (
    "avg_pool2d",
    "binary_cross_entropy_with_logits",
    "conv2d",
    "cross_entropy",
    "dropout",
    "elu",
    "gelu",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "leaky_relu",
    "log_softmax",
    "max_pool2d",
    "mse_loss",
    "nll_loss",
    "pad",
    "relu",
    "scaled_dot_product_attention",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "tanh",
)
globals().update({name: PUBLIC[name].function for name in _NAMES})
__all__ = ["linear", *_NAMES]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x Wᵀ + b for x (…, in), weight (out, in) and bias (out,)."""
    product = input @ weight.T
    return product if bias is None else product + bias

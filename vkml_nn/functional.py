"""The layers' functions under the names that PyTorch keeps in torch.nn.functional."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import vkml_core.methods  # fills the public table  # noqa: F401
from vkml_core.functional import elementwise, losses
from vkml_core.functional.common import choice_arg, float_arg
from vkml_core.public import PUBLIC
from vkml_core.tensor import Tensor
from vkml_nn.convolve import conv1d, conv2d
from vkml_nn.embed import embedding
from vkml_nn.normalize import batch_norm, group_norm, layer_norm, rms_norm
from vkml_nn.pool import adaptive_avg_pool2d, avg_pool2d, max_pool2d

_NAMES: Final = (
    "binary_cross_entropy_with_logits",
    "cross_entropy",
    "dropout",
    "elu",
    "huber_loss",
    "l1_loss",
    "leaky_relu",
    "log_softmax",
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
__all__ = [
    "adaptive_avg_pool2d",
    "avg_pool2d",
    "batch_norm",
    "conv1d",
    "conv2d",
    "embedding",
    "gelu",
    "group_norm",
    "kl_div",
    "layer_norm",
    "linear",
    "max_pool2d",
    "rms_norm",
    *_NAMES,
]

GELU_FORMS: Final = ("none", "tanh")
KL_REDUCTIONS: Final = (*losses.REDUCTIONS, "batchmean")

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x Wᵀ + b for x (…, in), weight (out, in) and bias (out,)."""
    product = input @ weight.T
    return product if bias is None else product + bias


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x · Φ(x); Hendrycks and Gimpel (2016).

    With "tanh" it is their approximation ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))).
    """
    if choice_arg(approximate, "gelu: approximate", GELU_FORMS) == "none":
        return elementwise.gelu(input)
    x = float_arg(input, "gelu: input")
    inner = (x + x * x * x * 0.044715) * 0.79788456080286536
    return x * 0.5 * (inner.tanh() + 1.0)


def kl_div(
    input: Tensor, target: Tensor, reduction: str = "mean", log_target: bool = False
) -> Tensor:
    """target · (ln target − input), 0 where target is 0; `input` holds logarithms.

    With `log_target`, `target` holds logarithms too. "batchmean" is the sum divided by the size of
    the first dimension: the mean of the divergences of the samples.
    """
    if choice_arg(reduction, "kl_div: reduction", KL_REDUCTIONS) != "batchmean":
        return losses.kl_div(input, target, reduction, log_target)
    total = losses.kl_div(input, target, "sum", log_target)
    return total / float(input.shape[0]) if input.ndim else total

"""TransformerEncoderLayer and TransformerEncoder: self-attention and a net for each position."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Final

from vkml_core.dtypes import float32
from vkml_core.errors import ArgumentTypeError
from vkml_core.functional.common import bool_arg, choice_arg
from vkml_core.functional.creation import Device
from vkml_core.tensor import Tensor
from vkml_nn import functional
from vkml_nn.arguments import count_arg
from vkml_nn.attention import MultiheadAttention
from vkml_nn.container import ModuleList
from vkml_nn.dropout import Dropout
from vkml_nn.linear import Linear
from vkml_nn.module import Module
from vkml_nn.norm import LayerNorm

Activation = Callable[[Tensor], Tensor]
_ACTIVATIONS: Final[dict[str, Activation]] = {
    "relu": functional.relu,
    "gelu": functional.gelu,
}


def _activation(value: str | Activation) -> Activation:
    what = "TransformerEncoderLayer: activation"
    return value if callable(value) else _ACTIVATIONS[choice_arg(value, what, (*_ACTIVATIONS,))]


class TransformerEncoderLayer(Module):
    """One layer of an encoder for src (N, L, d_model), or (L, N, d_model) unless `batch_first`.

        x = norm1(x + attention(x)), then norm2(x + feed_forward(x)), or with `norm_first`
        x = x + attention(norm1(x)), then x + feed_forward(norm2(x)),
        feed_forward(x) = linear2(activation(linear1(x)))

    with dropout on the attention's weights, after the activation and on both branches. activation
    is "relu", "gelu" or a function. Vaswani et al. (2017); norm_first: Xiong et al. (2020).

    >>> import vkml
    >>> from vkml import nn
    >>> layer = nn.TransformerEncoderLayer(8, nhead=2, dim_feedforward=16)
    >>> layer(vkml.ones(2, 5, 8), is_causal=True).shape
    (2, 5, 8)
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = "relu",
        layer_norm_eps: float = 1e-5,
        batch_first: bool = True,
        norm_first: bool = False,
        bias: bool = True,
        device: Device = None,
        dtype: Any = float32,
    ) -> None:
        super().__init__()
        like: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        width = count_arg(dim_feedforward, "TransformerEncoderLayer: dim_feedforward")
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, batch_first=batch_first, **like
        )
        self.linear1 = Linear(d_model, width, **like)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(width, d_model, **like)
        self.norm_first = bool_arg(norm_first, "TransformerEncoderLayer: norm_first")
        self.norm1 = LayerNorm(d_model, layer_norm_eps, **like)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, **like)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Apply the layer; the masks are those of MultiheadAttention."""
        masks = (src_mask, is_causal, src_key_padding_mask)
        x = src
        if self.norm_first:
            x = x + self._attended(self.norm1(x), *masks)
            return x + self._fed(self.norm2(x))
        x = self.norm1(x + self._attended(x, *masks))
        output: Tensor = self.norm2(x + self._fed(x))
        return output

    def _attended(self, x: Tensor, *masks: Any) -> Tensor:
        output: Tensor = self.dropout1(self.self_attn(x, x, x, *masks))
        return output

    def _fed(self, x: Tensor) -> Tensor:
        inner = self.dropout(self.activation(self.linear1(x)))
        output: Tensor = self.dropout2(self.linear2(inner))
        return output


def _module(value: object, name: str) -> Module:
    if isinstance(value, Module):
        return value
    got = type(value).__name__
    raise ArgumentTypeError(f"TransformerEncoder: {name}: expected a Module, got {got}")


class TransformerEncoder(Module):
    """A stack of `num_layers` copies of a layer, each with parameters of its own, then `norm`.

    As in PyTorch the copies start from the same values.

    >>> from vkml import nn
    >>> layer = nn.TransformerEncoderLayer(8, nhead=2, dim_feedforward=16)
    >>> len(nn.TransformerEncoder(layer, 3).layers)
    3
    """

    def __init__(self, encoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.num_layers = count_arg(num_layers, "TransformerEncoder: num_layers")
        layer = _module(encoder_layer, "encoder_layer")
        self.layers = ModuleList([copy.deepcopy(layer) for _ in range(self.num_layers)])
        self.norm = norm if norm is None else _module(norm, "norm")

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Pass src through all layers, with the same masks for each."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return src if self.norm is None else self.norm(src)

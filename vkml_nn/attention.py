"""MultiheadAttention: several attentions side by side, on projections of their inputs."""

from __future__ import annotations

import math
from typing import Any

from vkml_core.dtypes import float32
from vkml_core.errors import ArgumentError, ShapeError
from vkml_core.functional.common import bool_arg, float_arg, probability_arg, stop
from vkml_core.functional.creation import Device, zeros
from vkml_core.functional.elementwise import masked_fill
from vkml_core.functional.linalg import matmul
from vkml_core.functional.normal import dropout, softmax
from vkml_core.functional.reduce import amax
from vkml_core.tensor import Tensor
from vkml_nn import init, masks
from vkml_nn.arguments import count_arg
from vkml_nn.functional import linear
from vkml_nn.linear import Linear
from vkml_nn.module import Module
from vkml_nn.parameter import Parameter


class MultiheadAttention(Module):
    """softmax(q kᵀ/√d + mask) v for each head, of projected inputs; Vaswani et al. (2017).

    query is (N, L, E), key and value (N, S, E), or (L, N, E) and (S, N, E) unless `batch_first`,
    or (L, E) and (S, E); d is E / num_heads. The result is the output alone, shaped as the query:
    not a tuple, as in PyTorch. In training, weights are zeroed with probability `dropout`.

    Masks are True where attention is not allowed, or floats that are added: `attn_mask` (L, S),
    (N·num_heads, L, S), (N, L, S) or one that broadcasts to (N, num_heads, L, S);
    `key_padding_mask` (N, S), or (S,) without a batch. `is_causal` hides the keys after each query,
    with or without a mask. A query that may attend to nothing gets zeros before `out_proj`, as in
    PyTorch with need_weights=False.

    >>> import vkml
    >>> from vkml import nn
    >>> x = vkml.ones(2, 5, 8)
    >>> nn.MultiheadAttention(8, num_heads=2)(x, x, x, is_causal=True).shape
    (2, 5, 8)
    """

    in_proj_bias: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        batch_first: bool = True,
        device: Device = None,
        dtype: Any = float32,
    ) -> None:
        super().__init__()
        self.embed_dim = count_arg(embed_dim, "MultiheadAttention: embed_dim")
        self.num_heads = count_arg(num_heads, "MultiheadAttention: num_heads")
        if self.embed_dim % self.num_heads:
            raise ArgumentError(
                f"MultiheadAttention: num_heads {num_heads} must divide embed_dim {embed_dim}"
            )
        self.head_dim = self.embed_dim // self.num_heads
        self.dropout = probability_arg(dropout, "MultiheadAttention: dropout")
        self.batch_first = bool_arg(batch_first, "MultiheadAttention: batch_first")
        shift = bool_arg(bias, "MultiheadAttention: bias")
        rows, like = 3 * self.embed_dim, {"device": device, "dtype": dtype}
        self.in_proj_weight = Parameter(zeros(rows, self.embed_dim, **like))
        self.register_parameter("in_proj_bias", Parameter(zeros(rows, **like)) if shift else None)
        self.out_proj = Linear(self.embed_dim, self.embed_dim, bias=shift, **like)
        self._start()

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        self.out_proj.reset_parameters()
        self._start()

    def _start(self) -> None:
        init.xavier_uniform_(self.in_proj_weight)
        for shift in (self.in_proj_bias, self.out_proj.bias):
            if shift is not None:
                init.zeros_(shift)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        is_causal: bool = False,
        key_padding_mask: Tensor | None = None,
    ) -> Tensor:
        """Apply the layer; what does not fit is a ShapeError, an int mask a DTypeError."""
        batched = self._check(query, key, value)
        q, k, v = (self._heads(x, batched) for x in self._projected(query, key, value))
        scores = matmul(q * (1.0 / math.sqrt(self.head_dim)), k.transpose(-2, -1))
        hidden = []
        for mask, name, read in (
            (attn_mask, "attn_mask", masks.attention_mask),
            (key_padding_mask, "key_padding_mask", masks.padding_mask),
        ):
            if mask is not None:
                hidden.append(read(mask, f"MultiheadAttention: {name}", scores.shape, batched))
        causal = bool_arg(is_causal, "MultiheadAttention: is_causal")
        weights = dropout(_weights(scores, hidden, causal), self.dropout, training=self.training)
        output: Tensor = self.out_proj(self._merged(matmul(weights, v), batched))
        return output

    def _check(self, query: Tensor, key: Tensor, value: Tensor) -> bool:
        """Check that the inputs fit together; tell whether they have a batch."""
        given = {"query": query, "key": key, "value": value}
        shapes = [float_arg(t, f"MultiheadAttention: {n}").shape for n, t in given.items()]
        q, k, v = shapes
        batch = 0 if self.batch_first else 1
        alike = len(q) == len(k) and (len(q) == 2 or q[batch : batch + 1] == k[batch : batch + 1])
        if len(q) not in (2, 3) or not alike or k != v or q[-1] != self.embed_dim or k[-1] != q[-1]:
            form = "(N, length, E)" if self.batch_first else "(length, N, E)"
            raise ShapeError(
                f"MultiheadAttention: expected query, key and value {form} or (length, E) with "
                f"E = {self.embed_dim}, key and value alike, got {q}, {k} and {v}"
            )
        return len(q) == 3

    def _projected(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        """Apply the packed projections: one product where all inputs are the same tensor."""
        weight, bias, e = self.in_proj_weight, self.in_proj_bias, self.embed_dim
        parts = [slice(i * e, (i + 1) * e) for i in range(3)]
        if inputs[0] is inputs[1] is inputs[2]:
            packed = linear(inputs[0], weight, bias)
            return tuple(packed[..., part] for part in parts)
        shifts = [None if bias is None else bias[part] for part in parts]
        given = zip(inputs, parts, shifts, strict=True)
        return tuple(linear(x, weight[part], shift) for x, part, shift in given)

    def _heads(self, x: Tensor, batched: bool) -> Tensor:
        """Cut (N, length, E), or what is given for it, into (N, heads, length, E / heads)."""
        if not batched:
            x = x.unsqueeze(0)
        elif not self.batch_first:
            x = x.transpose(0, 1)
        return x.reshape(*x.shape[:2], self.num_heads, self.head_dim).transpose(1, 2)

    def _merged(self, x: Tensor, batched: bool) -> Tensor:
        """Put (N, heads, length, E / heads) back into the form of the query."""
        x = x.transpose(1, 2).reshape(x.shape[0], x.shape[2], self.embed_dim)
        if not batched:
            return x.squeeze(0)
        return x if self.batch_first else x.transpose(0, 1)


def _weights(scores: Tensor, hidden: list[Tensor], causal: bool) -> Tensor:
    """Give the softmax of masked scores; rows in which every key is hidden are zeros."""
    if causal:
        scores = masks.masked(scores, [*hidden, masks.future(scores.shape, scores.device)])
    elif hidden:
        scores = masks.masked(scores, hidden)
    if not hidden or not scores.shape[-1]:  # what is causal alone leaves the first key
        return softmax(scores, -1)
    # Both before and after the softmax, so that no NaN is made that a gradient could meet.
    empty = stop(amax(scores, -1, True)) == -math.inf
    return masked_fill(softmax(masked_fill(scores, empty, 0.0), -1), empty, 0.0)

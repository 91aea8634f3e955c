"""Embedding: a trained table whose rows are read by index."""

from __future__ import annotations

from typing import Any

from vkml_core.dtypes import float32
from vkml_core.functional.creation import Device, arange, zeros
from vkml_core.functional.elementwise import where
from vkml_core.functional.random import randn
from vkml_core.graph import no_grad
from vkml_core.tensor import Tensor
from vkml_nn.arguments import count_arg, row_arg
from vkml_nn.embed import embedding
from vkml_nn.module import Module
from vkml_nn.parameter import Parameter


class Embedding(Module):
    """weight[input]: indices (int64 or int32, rank ≤ 3) to rows, in shape (*, embedding_dim).

    `weight` (num_embeddings, embedding_dim) starts standard normal; its row `padding_idx` starts
    as zeros and takes no gradient. An index outside the table is an IndexError when the result is
    computed.

    >>> import vkml
    >>> from vkml import nn
    >>> nn.Embedding(10, 3)(vkml.tensor([[1, 2], [4, 9]])).shape
    (2, 2, 3)
    """

    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        *,
        device: Device = None,
        dtype: Any = float32,
    ) -> None:
        super().__init__()
        self.num_embeddings = count_arg(num_embeddings, "Embedding: num_embeddings")
        self.embedding_dim = count_arg(embedding_dim, "Embedding: embedding_dim")
        what = "Embedding: padding_idx"
        self.padding_idx = row_arg(padding_idx, self.num_embeddings, what)
        shape = (self.num_embeddings, self.embedding_dim)
        self.weight = Parameter(zeros(shape, dtype=dtype, device=device))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new starting values."""
        device = self.weight.device
        with no_grad():
            values = randn(self.weight.shape, device=device)
            if self.padding_idx is not None:
                row = arange(self.num_embeddings, device=device).unsqueeze(1)
                values = where(row == self.padding_idx, 0.0, values)
            self.weight.assign_(values).realize()

    def forward(self, input: Tensor) -> Tensor:
        """Read the rows."""
        return embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        """Say the sizes, and the padding row if there is one."""
        sizes = f"{self.num_embeddings}, {self.embedding_dim}"
        return sizes if self.padding_idx is None else f"{sizes}, padding_idx={self.padding_idx}"

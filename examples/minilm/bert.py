"""MiniLM in vkml modules: BERT with the published parameter names, and the mean over the tokens.

Devlin et al. (2019); Wang et al. (2020); Reimers and Gurevych (2019).
"""

from __future__ import annotations

from typing import Any

import vkml
from vkml import nn


class Embeddings(nn.Module):
    """The sum of a token's, its position's and its segment's vector, normalised."""

    def __init__(self, config: dict[str, Any], device: str) -> None:
        super().__init__()
        width, places = config["hidden_size"], config["max_position_embeddings"]
        self.word_embeddings = nn.Embedding(config["vocab_size"], width, device=device)
        self.position_embeddings = nn.Embedding(places, width, device=device)
        self.token_type_embeddings = nn.Embedding(config["type_vocab_size"], width, device=device)
        self.LayerNorm = nn.LayerNorm(width, eps=config["layer_norm_eps"], device=device)
        self.register_buffer("position_ids", vkml.arange(places, device=device).reshape(1, places))

    def forward(self, tokens: vkml.Tensor) -> vkml.Tensor:
        """Give (N, L, width) for tokens (N, L), all of the first segment."""
        places = self.position_embeddings(self.position_ids[:, : tokens.shape[1]])
        segment = self.token_type_embeddings.weight[0]
        found: vkml.Tensor = self.LayerNorm(self.word_embeddings(tokens) + segment + places)
        return found


class SelfAttention(nn.Module):
    """Every token's weighted mean of all tokens' values, for each of the heads."""

    def __init__(self, config: dict[str, Any], device: str) -> None:
        super().__init__()
        width = config["hidden_size"]
        self.heads = config["num_attention_heads"]
        self.query = nn.Linear(width, width, device=device)
        self.key = nn.Linear(width, width, device=device)
        self.value = nn.Linear(width, width, device=device)

    def forward(self, x: vkml.Tensor, mask: vkml.Tensor) -> vkml.Tensor:
        """Map (N, L, width) to the same shape; `mask` (N, 1, 1, L) is True at tokens."""
        query, key, value = (
            project(x).reshape(*x.shape[:2], self.heads, -1).transpose(1, 2)
            for project in (self.query, self.key, self.value)
        )
        seen = vkml.scaled_dot_product_attention(query, key, value, mask)
        return seen.transpose(1, 2).reshape(x.shape)


class AddAndNorm(nn.Module):
    """A projection to the model's width, added to what came before, normalised."""

    def __init__(self, inputs: int, config: dict[str, Any], device: str) -> None:
        super().__init__()
        width = config["hidden_size"]
        self.dense = nn.Linear(inputs, width, device=device)
        self.LayerNorm = nn.LayerNorm(width, eps=config["layer_norm_eps"], device=device)

    def forward(self, x: vkml.Tensor, before: vkml.Tensor) -> vkml.Tensor:
        """Give LayerNorm(dense(x) + before)."""
        normalised: vkml.Tensor = self.LayerNorm(self.dense(x) + before)
        return normalised


class Layer(nn.Module):
    """Attention and a perceptron, each followed by AddAndNorm."""

    def __init__(self, config: dict[str, Any], device: str) -> None:
        super().__init__()
        width, inner = config["hidden_size"], config["intermediate_size"]
        self.attention = nn.Module()
        self.attention.self = SelfAttention(config, device)
        self.attention.output = AddAndNorm(width, config, device)
        self.intermediate = nn.Sequential(
            {"dense": nn.Linear(width, inner, device=device), "gelu": nn.GELU()}
        )
        self.output = AddAndNorm(inner, config, device)

    def forward(self, x: vkml.Tensor, mask: vkml.Tensor) -> vkml.Tensor:
        """Map (N, L, width) to the same shape."""
        attended = self.attention.output(self.attention.self(x, mask), x)
        result: vkml.Tensor = self.output(self.intermediate(attended), attended)
        return result


class MiniLM(nn.Module):
    """BERT as published (Devlin et al., 2019), the mean over tokens, and length 1."""

    def __init__(self, config: dict[str, Any], device: str) -> None:
        super().__init__()
        self.embeddings = Embeddings(config, device)
        self.encoder = nn.Module()
        layers = [Layer(config, device) for _ in range(config["num_hidden_layers"])]
        self.encoder.layer = nn.Sequential(*layers)

    def forward(self, tokens: vkml.Tensor, mask: vkml.Tensor) -> vkml.Tensor:
        """Embed tokens (N, L), padded where the bool mask (N, L) is False, as (N, width).

        Padding changes no bit of the others: its weights are exactly 0, and adding a zero to a
        sum that starts from +0 does nothing (docs/numerics.md, rules 16 and 19).
        """
        x: vkml.Tensor = self.embeddings(tokens)
        for layer in self.encoder.layer:
            x = layer(x, mask[:, None, None, :])
        kept = vkml.where(mask[:, :, None], x, 0.0)
        mean = kept.sum(1) / mask.sum(1, keepdim=True)
        return mean / (mean * mean).sum(1, keepdim=True).sqrt().clamp_min(1e-12)

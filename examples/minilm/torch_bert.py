"""The same model of PyTorch's own encoder layers: what `--compare torch` compares with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

NAMES = {  # of the published weights, in PyTorch's words
    "attention.output.dense": "self_attn.out_proj",
    "attention.output.LayerNorm": "norm1",
    "intermediate.dense": "linear1",
    "output.dense": "linear2",
    "output.LayerNorm": "norm2",
}


def _layer(
    weights: Mapping[str, torch.Tensor], prefix: str, config: Mapping[str, Any]
) -> nn.TransformerEncoderLayer:
    layer = nn.TransformerEncoderLayer(
        config["hidden_size"],
        config["num_attention_heads"],
        config["intermediate_size"],
        dropout=0.0,
        activation=config["hidden_act"],
        layer_norm_eps=config["layer_norm_eps"],
        batch_first=True,
    )
    state = {}
    for kind in ("weight", "bias"):
        parts = [weights[f"{prefix}attention.self.{p}.{kind}"] for p in ("query", "key", "value")]
        state[f"self_attn.in_proj_{kind}"] = torch.cat(parts)
        for ours, theirs in NAMES.items():
            state[f"{theirs}.{kind}"] = weights[f"{prefix}{ours}.{kind}"]
    layer.load_state_dict(state)
    return layer.eval()


def embed(
    config: Mapping[str, Any],
    arrays: Mapping[str, npt.NDArray[Any]],
    tokens: Sequence[Sequence[int]],
) -> npt.NDArray[np.float32]:
    """Embed each sentence by itself, without padding: (sentences, width)."""
    weights = {name: torch.from_numpy(array) for name, array in arrays.items()}
    prefixes = [f"encoder.layer.{i}." for i in range(config["num_hidden_layers"])]
    layers = [_layer(weights, prefix, config) for prefix in prefixes]
    word, place, segment = (
        weights[f"embeddings.{name}_embeddings.weight"]
        for name in ("word", "position", "token_type")
    )
    scale, shift = (weights[f"embeddings.LayerNorm.{kind}"] for kind in ("weight", "bias"))
    width, eps = config["hidden_size"], config["layer_norm_eps"]
    found = []
    with torch.no_grad():
        for sentence in tokens:
            x = word[list(sentence)] + place[: len(sentence)] + segment[0]
            x = nn.functional.layer_norm(x, (width,), scale, shift, eps).unsqueeze(0)
            for layer in layers:
                x = layer(x)
            found.append(nn.functional.normalize(x.mean(1)))
    return torch.cat(found).numpy()

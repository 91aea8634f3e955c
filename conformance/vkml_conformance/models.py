"""The models of the training runs: an MLP, a CNN and a transformer block, with their batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import vkml
from vkml import Tensor, nn

_HOST: Final = "cpu"
"""Where parameters get their first values, whatever device is the default."""
Batch = tuple[Tensor, Tensor]
VOCABULARY: Final = 48
LENGTH: Final = 24
WIDTH: Final = 64
HEADS: Final = 4


def _mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(784, 128, device=_HOST), nn.ReLU(), nn.Linear(128, 10, device=_HOST)
    )


def _cnn() -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1, device=_HOST), nn.ReLU()]
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(2048, 100, device=_HOST))


class _Embedding(nn.Module):
    """Rows of a table by index: (…) int64 → (…, width)."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(vkml.randn(count, WIDTH, device=_HOST) * 0.25)

    def forward(self, index: Tensor) -> Tensor:
        rows = self.weight.index_select(0, index.reshape(-1))
        return rows.reshape((*index.shape, WIDTH))


class _LayerNorm(nn.Module):
    """Layer norm over the last axis, with weight and bias."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(vkml.ones(WIDTH, dtype=vkml.float32, device=_HOST))
        self.bias = nn.Parameter(vkml.zeros(WIDTH, dtype=vkml.float32, device=_HOST))

    def forward(self, x: Tensor) -> Tensor:
        return vkml.layer_norm(x, 1, self.weight, self.bias)


class _Attention(nn.Module):
    """Causal self-attention with several heads: (N, T, width) → the same shape."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(WIDTH, 3 * WIDTH, device=_HOST)
        self.out = nn.Linear(WIDTH, WIDTH, device=_HOST)

    def forward(self, x: Tensor) -> Tensor:
        n, t, _ = x.shape
        joint = self.project(x)
        parts = [joint[..., i * WIDTH : (i + 1) * WIDTH] for i in range(3)]
        heads = (p.reshape((n, t, HEADS, WIDTH // HEADS)).permute(0, 2, 1, 3) for p in parts)
        mixed = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        out: Tensor = self.out(mixed.permute(0, 2, 1, 3).reshape((n, t, WIDTH)))
        return out


class _Transformer(nn.Module):
    """Tokens and places embedded, one pre-norm block, logits: (N, T) → (N, vocabulary, T)."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = _Embedding(VOCABULARY), _Embedding(LENGTH)
        self.norms = nn.Sequential(_LayerNorm(), _LayerNorm(), _LayerNorm())
        self.attention = _Attention()
        wide, narrow = (
            nn.Linear(*sizes, device=_HOST) for sizes in ((WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))
        )
        self.mlp = nn.Sequential(wide, nn.GELU(), narrow)
        self.head = nn.Linear(WIDTH, VOCABULARY, device=_HOST)

    def forward(self, index: Tensor) -> Tensor:
        x = self.tokens(index) + self.places(vkml.arange(index.shape[1], device=index.device))
        x = x + self.attention(self.norms[0](x))
        x = x + self.mlp(self.norms[1](x))
        logits: Tensor = self.head(self.norms[2](x))
        return logits.transpose(1, 2)


def _images(shape: tuple[int, ...], classes: int) -> Callable[[int, str], Batch]:
    def batch(seed: int, device: str) -> Batch:
        x = vkml.randn(*shape, seed=seed, device=device)
        return x, vkml.randint(0, classes, shape[:1], seed=seed + 1, device=device)

    return batch


def _text(seed: int, device: str) -> Batch:
    """Give tokens, and the tokens that follow them."""
    shape = (8, LENGTH + 1)
    tokens = vkml.randint(0, VOCABULARY, shape, seed=seed, device=device)
    return tokens[:, :-1], tokens[:, 1:]


@dataclass(frozen=True)
class Model:
    """How to make a model, and a batch (inputs, labels) of a seed on a device."""

    make: Callable[[], nn.Module]
    batch: Callable[[int, str], Batch]
    rate: float = 0.05


MODELS: Final = {
    "mlp": Model(_mlp, _images((64, 784), 10)),
    "cnn": Model(_cnn, _images((4, 3, 32, 32), 100)),
    "transformer": Model(_Transformer, _text),
}

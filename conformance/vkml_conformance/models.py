"""The models of the training runs: an MLP, a CNN and a transformer block, with their batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import vkml
from vkml import Tensor, nn, optim

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
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1, device=_HOST)]
        layers += [nn.BatchNorm2d(outputs, device=_HOST), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(2048, 100, device=_HOST))


class _Transformer(nn.Module):
    """Characters and places embedded, one encoder layer, logits: (N, T) → (N, vocabulary, T)."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH, device=_HOST)
        self.places = nn.Embedding(LENGTH, WIDTH, device=_HOST)
        self.layer = nn.TransformerEncoderLayer(
            WIDTH, HEADS, 4 * WIDTH, activation="gelu", norm_first=True, device=_HOST
        )
        self.norm = nn.LayerNorm(WIDTH, device=_HOST)
        self.head = nn.Linear(WIDTH, VOCABULARY, device=_HOST)

    def forward(self, index: Tensor) -> Tensor:
        x = self.layer(self.tokens(index) + self.places.weight, is_causal=True)
        logits: Tensor = self.head(self.norm(x))
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


def _sgd(parameters: Iterable[Tensor]) -> optim.Optimizer:
    return optim.SGD(parameters, lr=0.05, momentum=0.9)


def _rmsprop(parameters: Iterable[Tensor]) -> optim.Optimizer:
    return optim.RMSProp(parameters, lr=1e-4, momentum=0.9, centered=True, weight_decay=1e-4)


def _adamw(parameters: Iterable[Tensor]) -> optim.Optimizer:
    return optim.AdamW(parameters, lr=1e-2)


@dataclass(frozen=True)
class Model:
    """How to make a model, a batch (inputs, labels) of a seed on a device, and its optimiser."""

    make: Callable[[], nn.Module]
    batch: Callable[[int, str], Batch]
    optimizer: Callable[[Iterable[Tensor]], optim.Optimizer]


MODELS: Final = {
    "mlp": Model(_mlp, _images((64, 784), 10), _sgd),
    "cnn": Model(_cnn, _images((4, 3, 32, 32), 100), _rmsprop),
    "transformer": Model(_Transformer, _text, _adamw),
}

"""Twenty training steps of the MLP and the CNN, as digests of what they end in."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

import vkml
from vkml import nn, optim

STEPS: Final = 20


def _mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, 10))


def _cnn() -> nn.Module:
    layers: list[nn.Module] = []
    for inputs, outputs in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(2048, 100))


MODELS: Final[dict[str, tuple[Callable[[], nn.Module], tuple[int, ...], int]]] = {
    "mlp": (_mlp, (64, 784), 10),
    "cnn": (_cnn, (4, 3, 32, 32), 100),
}
"""A model, the shape of its batch, the number of classes."""

DIGESTS: Final[dict[str, str]] = {
    "mlp": "963cf238788c968bb706b711fc5d8f69925f0e54df3e61ac182ff65086e6b002",
    "cnn": "bf192b6f651217d750add47f16dba8c53314ed55d7b9e15d59cb822e694bdb29",
}
"""SHA-256 of the parameters after the last step and of all losses, version 1 of the contract."""


def digest(name: str, device: str, steps: int = STEPS) -> str:
    """Train on random numbers with SGD and momentum; give the SHA-256 of the outcome."""
    make, shape, classes = MODELS[name]
    vkml.manual_seed(0)
    model = make()
    model.to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    sha = hashlib.sha256()
    for step in range(steps):
        x = vkml.randn(*shape, seed=2 * step, device=device)
        y = vkml.randint(0, classes, shape[:1], seed=2 * step + 1, device=device)
        optimizer.zero_grad()
        loss = vkml.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        sha.update(loss.numpy().tobytes())
    for parameter in model.parameters():
        sha.update(parameter.numpy().tobytes())
    return sha.hexdigest()

"""Training programs that are run eagerly, lazily and compiled; what is left of them as bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import numpy as np

import vkml
from vkml import nn, optim

Data = tuple[np.ndarray, np.ndarray]
Step = Callable[..., Any]
MODES: Final = ("eager", "lazy", "compiled")


class Attention(nn.Module):
    """A small transformer over tokens, with dropout that follows the common generator and not."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.2, batch_first=True)
        self.drop = nn.Dropout(0.3, seed=9)
        self.head = nn.Linear(8, 3)

    def forward(self, x: vkml.Tensor) -> vkml.Tensor:
        hidden = self.layer(self.embedding(x))
        return self.head(self.drop(hidden.mean(1)))


def perceptron() -> nn.Module:
    return nn.Sequential(
        nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.3), nn.Dropout(0.1, seed=5), nn.Linear(16, 3)
    )


def convolutions() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 4, 3),
        nn.BatchNorm2d(4, momentum=None),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(4, 3),
    )


MODELS: Final[Mapping[str, tuple[Callable[[], nn.Module], tuple[int, ...], bool]]] = {
    "perceptron": (perceptron, (6,), False),
    "convolutions": (convolutions, (2, 6, 6), False),
    "transformer": (Attention, (5,), True),
}
"""How to make each, the shape of a sample, and whether samples are tokens."""


def batches(name: str, steps: int) -> Iterator[Data]:
    """Give batches, of which the last of every four is smaller."""
    _, shape, tokens = MODELS[name]
    rng = np.random.default_rng(0)
    for i in range(steps):
        n = 5 if i % 4 == 3 else 8
        x = rng.integers(0, 11, (n, *shape)) if tokens else rng.standard_normal((n, *shape))
        yield x if tokens else x.astype(np.float32), rng.integers(0, 3, n)


def groups(model: nn.Module) -> list[dict[str, Any]]:
    """Put weights and biases into groups of their own."""
    named = list(model.named_parameters())
    return [
        {"params": [p for n, p in named if n.endswith("weight")]},
        {"params": [p for n, p in named if not n.endswith("weight")], "lr": 0.02},
    ]


OPTIMISERS: Final[Mapping[str, Callable[[nn.Module], optim.Optimizer]]] = {
    "SGD": lambda m: optim.SGD(m.parameters(), lr=0.1),
    "momentum": lambda m: optim.SGD(
        groups(m), lr=0.05, momentum=0.9, nesterov=True, weight_decay=0.01
    ),
    "RMSProp": lambda m: optim.RMSProp(m.parameters(), lr=0.01, centered=True, momentum=0.5),
    "Adam": lambda m: optim.Adam(m.parameters(), lr=0.01),
    "AdamW": lambda m: optim.AdamW(groups(m), lr=0.01, weight_decay=0.1),
}


class Run:
    """One model being trained in one mode on one device."""

    def __init__(self, model: str, optimiser: str, mode: str, device: str) -> None:
        vkml.manual_seed(3)
        self.model = MODELS[model][0]()
        self.model.to(device)
        self.optimizer = OPTIMISERS[optimiser](self.model)
        self.schedule = optim.CosineAnnealing(self.optimizer, 12)
        self.mode = mode
        self.device = device
        self.step: Step = self._step
        if mode == "compiled":
            self.step = vkml.compile(self._step)

    def _step(self, x: vkml.Tensor, y: vkml.Tensor) -> Any:
        loss = vkml.cross_entropy(self.model(x), y)
        self.optimizer.zero_grad()
        loss.backward()
        norm = optim.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        return {"loss": loss, "more": [norm, (loss * 2.0,)]}

    def train(self, data: Iterator[Data] | list[Data]) -> list[float]:
        """Train; give the losses."""
        found = []
        with vkml.eager_mode(self.mode == "eager"):
            for x, y in data:
                out = self.step(
                    vkml.tensor(x, device=self.device), vkml.tensor(y, device=self.device)
                )
                loss, norm = out["loss"], out["more"][0]
                vkml.realize(loss, norm)
                found += [loss.item(), norm.item(), out["more"][1][0].item()]
                self.schedule.step()
        return found

    def state(self) -> dict[str, Any]:
        """Give all that training changes, tensors as bytes."""
        found: dict[str, Any] = {k: v.numpy().tobytes() for k, v in self.model.state_dict().items()}
        for i, kept in self.optimizer.state_dict()["state"].items():
            found |= {f"{i}.{k}": v.numpy().tobytes() for k, v in kept.items()}
        found["random"] = vkml.get_rng_state(), self.model.random_state()
        found["rates"] = [g["lr"] for g in self.optimizer.param_groups]
        return found


def submissions(device: str) -> float:
    return vkml.device(device).stats()["submissions"]

"""A training run that can stop and go on: `python resume.py OPTIMISER DEVICE FROM STEPS TO`.

FROM and TO are checkpoints; FROM may be "-". It prints a hash of all that the run has come to.
"""

from __future__ import annotations

import hashlib
import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

import vkml
from vkml import nn, optim
from vkml.data import ArrayDataset, DataLoader

OPTIMISERS: Final[dict[str, Callable[[Any], Any]]] = {
    "sgd": lambda p: optim.SGD(p, lr=0.05, momentum=0.9, weight_decay=1e-3, nesterov=True),
    "adam": lambda p: optim.Adam(p, lr=0.01),
    "rmsprop": lambda p: optim.RMSProp(p, lr=0.01, momentum=0.5, centered=True),
}


class Run:
    """Everything that a run is made of; made anew it is at its start."""

    def __init__(self, optimiser: str, device: str) -> None:
        self.model = nn.Sequential(
            nn.Linear(5, 8), nn.Dropout(0.3), nn.ReLU(), nn.Dropout(0.2, seed=3), nn.Linear(8, 3)
        ).to(device)
        self.optimizer = OPTIMISERS[optimiser](self.model.parameters())
        self.schedule = optim.StepLR(self.optimizer, step_size=4, gamma=0.5)
        rng = np.random.default_rng(0)
        x, y = rng.standard_normal((40, 5), np.float32), rng.integers(0, 3, 40)
        self.loader = DataLoader(ArrayDataset(x, y), 6, shuffle=True, seed=4, device=device)
        self.losses: list[float] = []

    def batches(self) -> Iterator[Any]:
        while True:
            yield from self.loader

    def train(self, steps: int) -> None:
        for x, y in itertools.islice(self.batches(), steps):
            loss = nn.functional.cross_entropy(self.model(x), y)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.schedule.step()
            self.losses.append(loss.item())

    def state(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "dropout": self.model.random_state(),
            "optimizer": self.optimizer.state_dict(),
            "schedule": self.schedule.state_dict(),
            "loader": self.loader.state_dict(),
            "random": vkml.get_rng_state(),
            "losses": self.losses,
        }

    def load(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.model.load_random_state(state["dropout"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.schedule.load_state_dict(state["schedule"])
        self.loader.load_state_dict(state["loader"])
        vkml.set_rng_state(state["random"])
        self.losses = state["losses"]


def hash_of(state: Any) -> str:
    """Give the hash of a nesting: of the bits of its tensors and of the rest as it is printed."""
    if isinstance(state, dict):
        state = [*state.items()]
    if isinstance(state, vkml.Tensor):
        state = [state.dtype.name, state.shape, state.numpy().tobytes()]
    shown = [hash_of(s) for s in state] if isinstance(state, list | tuple) else repr(state)
    return hashlib.sha256(repr(shown).encode()).hexdigest()


def main(optimiser: str, device: str, start: str, steps: str, end: str) -> None:
    vkml.manual_seed(1 if start == "-" else 99)
    run = Run(optimiser, device)
    if start != "-":
        run.load(vkml.load(start, device))
    run.train(int(steps))
    vkml.save(run.state(), end)
    print(hash_of(run.state()))


if __name__ == "__main__":
    main(*sys.argv[1:])

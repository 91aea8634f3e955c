"""Twenty training steps of each model, as digests and as checks of all that they end in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import vkml
from vkml import Tensor, nn, optim
from vkml_conformance.check import Check
from vkml_conformance.engine import ORACLE, compute
from vkml_conformance.models import MODELS
from vkml_conformance.values import Array

STEPS: Final = 20
DIGESTS: Final[dict[str, str]] = {
    "mlp": "963cf238788c968bb706b711fc5d8f69925f0e54df3e61ac182ff65086e6b002",
    "cnn": "bf192b6f651217d750add47f16dba8c53314ed55d7b9e15d59cb822e694bdb29",
    "transformer": "297b8a288af43ac5e5a8abd9d2060b9f65538c3c7533628da1f513290666e104",
}
"""SHA-256 of all losses and of the parameters after the last step, version 1 of the contract."""


def digest(name: str, device: str, steps: int = STEPS) -> str:
    """Train on random numbers with SGD and momentum; give the SHA-256 of the outcome."""
    model = _made(name, 0)
    model.to(device)
    sha = hashlib.sha256()
    for loss in _losses(name, model, device, steps, 0):
        sha.update(loss.numpy().tobytes())
    for parameter in model.parameters():
        sha.update(parameter.numpy().tobytes())
    return sha.hexdigest()


def _made(name: str, seed: int) -> nn.Module:
    """Make a model whose parameters depend on the seed alone."""
    vkml.manual_seed(seed)
    return MODELS[name].make()


def _losses(name: str, model: nn.Module, device: str, steps: int, seed: int) -> Iterator[Tensor]:
    """Train, and give the loss of each step, after which the parameters are the next ones."""
    batch, rate = MODELS[name].batch, MODELS[name].rate
    optimizer = optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    for step in range(steps):
        x, y = batch(2 * (step + seed * steps), device)
        optimizer.zero_grad()
        loss = vkml.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        yield loss


@dataclass(frozen=True)
class TrainingSubject:
    """A training run. Leaves: the first values of the parameters; results: what it ends in."""

    model: str
    seed: int = 0
    steps: int = STEPS
    costly = True
    """Recording it computes: it is not recorded only to be looked at."""

    @cached_property
    def _first(self) -> dict[str, Array]:
        return {name: p.numpy() for name, p in _made(self.model, self.seed).named_parameters()}

    @property
    def results(self) -> tuple[str, ...]:
        """`loss of step n`, then `parameter NAME after n steps`."""
        losses = [f"loss of step {i}" for i in range(self.steps)]
        return (*losses, *(f"parameter {name} after {self.steps} steps" for name in self._first))

    def leaves(self) -> list[Array]:
        """Give the first values of all parameters."""
        return list(self._first.values())

    def record(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Train on the leaves' device; the last step is left to be computed."""
        device, model = leaves[0].device, MODELS[self.model].make()
        model.to(device)
        with vkml.no_grad():
            vkml.assign(list(model.parameters()), list(leaves))
        losses = list(_losses(self.model, model, device, self.steps, self.seed))
        return [*losses, *model.parameters()]

    def wanted(self) -> list[Array]:
        """Give what the oracle ends in."""
        return compute(self.leaves(), self, ORACLE)

    def held(self, wanted: Sequence[Array]) -> list[Array] | None:
        """Promise nothing at exact-normal: gradients on the way may be subnormal."""
        return None


def derive(seed: int = 0) -> Iterator[Check]:
    """Give a check of each model. Its id is `training/<model>`, with `@<seed>` for other seeds."""
    for name in MODELS:
        yield Check(
            id=f"training/{name}" + (f"@{seed}" if seed else ""),
            family="training",
            op=name,
            dtype="float32",
            part="training",
            subject=TrainingSubject(name, seed),
            about={"steps": str(STEPS), "seed": str(seed)},
        )

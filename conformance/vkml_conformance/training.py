"""Twenty training steps of each model, as digests and as checks of all that they end in."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import vkml
from vkml import Tensor, nn
from vkml_conformance.check import Check
from vkml_conformance.engine import ORACLE, compute
from vkml_conformance.models import MODELS
from vkml_conformance.values import Array

STEPS: Final = 20
DIGESTS: Final[dict[str, str]] = {
    "mlp": "963cf238788c968bb706b711fc5d8f69925f0e54df3e61ac182ff65086e6b002",
    "cnn": "1b3041de3909afb35c7167cbfd4243213aa4cc8424e57237431ed55a890931fc",
    "transformer": "66286624350df1b71fea428e6cfca811d0bff4f9c3ee9fc414182b7b66d729cb",
}
"""SHA-256 of all losses and of the state after the last step, version 1 of the contract."""


def digest(name: str, device: str, steps: int = STEPS) -> str:
    """Train on random numbers; give the SHA-256 of the outcome."""
    model = _start(name, 0)
    model.to(device)
    sha = hashlib.sha256()
    for loss in _losses(name, model, device, steps, 0):
        sha.update(loss.numpy().tobytes())
    for value in model.state_dict().values():
        sha.update(value.numpy().tobytes())
    return sha.hexdigest()


def _start(name: str, seed: int) -> nn.Module:
    """Make a model; its parameters, and the dropout to come, depend on the seed alone."""
    vkml.manual_seed(seed)
    return MODELS[name].make()


def _losses(name: str, model: nn.Module, device: str, steps: int, seed: int) -> Iterator[Tensor]:
    """Train, and give the loss of each step, after which the parameters are the next ones."""
    batch, optimizer = MODELS[name].batch, MODELS[name].optimizer(model.parameters())
    for step in range(steps):
        x, y = batch(2 * (step + seed * steps), device)
        optimizer.zero_grad()
        loss = vkml.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        yield loss


@dataclass(frozen=True)
class TrainingSubject:
    """A training run. Leaves: the first values of the parameters; results: what it ends in.

    The state it ends in has, besides the parameters, what normalisation keeps of the batches.
    """

    model: str
    seed: int = 0
    steps: int = STEPS
    costly = True
    """Recording it computes: it is not recorded only to be looked at."""

    @cached_property
    def _made(self) -> nn.Module:
        return _start(self.model, self.seed)

    @property
    def results(self) -> tuple[str, ...]:
        """`loss of step n`, then `NAME after n steps`."""
        losses = [f"loss of step {i}" for i in range(self.steps)]
        return (*losses, *(f"{name} after {self.steps} steps" for name in self._made.state_dict()))

    def leaves(self) -> list[Array]:
        """Give the first values of all parameters."""
        return [parameter.numpy() for parameter in self._made.parameters()]

    def record(self, leaves: Sequence[Tensor]) -> list[Tensor]:
        """Train on the leaves' device; the last step is left to be computed."""
        device, model = leaves[0].device, _start(self.model, self.seed)
        model.to(device)
        with vkml.no_grad():
            vkml.assign(list(model.parameters()), list(leaves))
        losses = list(_losses(self.model, model, device, self.steps, self.seed))
        return [*losses, *model.state_dict().values()]

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

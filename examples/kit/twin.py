"""PyTorch beside vkml: the same start weights, the same batches, the same program."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import vkml
from kit.options import fail
from kit.task import Evaluation, Task
from vkml import nn


class Twin:
    """Trains a copy of a model in PyTorch on the CPU, and keeps how far the two drift apart."""

    def __init__(self, task: Task, model: nn.Module, optimizer: Any) -> None:
        try:
            import torch
        except ImportError:
            fail("--compare torch needs PyTorch: pip install torch")
        self.torch, self.task = torch, task
        self.model = task.build(torch)
        self.model.load_state_dict(self._copied(model.state_dict()))
        self.optimizer = task.optimizer(torch, self.model.parameters())
        self.optimizer.load_state_dict(self._copied(optimizer.state_dict()))
        self.losses: list[float] = []
        self.seconds = 0.0

    def _copied(self, value: Any) -> Any:
        """Turn vkml's tensors, however nested, into PyTorch's."""
        if isinstance(value, dict):
            return {k: self._copied(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self._copied(v) for v in value]
        return self._tensor(value) if isinstance(value, vkml.Tensor) else value

    def _tensor(self, value: vkml.Tensor) -> Any:
        return self.torch.from_numpy(value.numpy())

    def step(self, x: vkml.Tensor, y: vkml.Tensor) -> None:
        """Take a training step on a batch."""
        inputs, labels = self._tensor(x), self._tensor(y)
        start = time.perf_counter()
        loss = self.task.loss(self.torch, self.model, inputs, labels)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())
        self.seconds += time.perf_counter() - start

    def evaluate(self) -> Evaluation:
        """Evaluate the copy."""

        def batches() -> Iterator[tuple[Any, Any]]:
            for x, y in self.task.tests:
                yield self._tensor(x), self._tensor(y)

        self.model.eval()
        with self.torch.no_grad():
            found = self.task.evaluate(self.torch, self.model, batches())
        self.model.train()
        return found

    def summary(self, losses: list[float]) -> dict[str, Any]:
        """Tell how far the losses of the last steps of a run went apart, and the time it took."""
        ours = np.array(losses[len(losses) - len(self.losses) :])
        apart = np.abs(ours - np.array(self.losses))
        return {
            "library": f"torch {self.torch.__version__}",
            "steps": len(self.losses),
            "largest_loss_difference": float(apart.max()),
            "mean_loss_difference": float(apart.mean()),
            "first_loss_difference": float(apart[0]),
            "seconds": round(self.seconds, 3),
        }

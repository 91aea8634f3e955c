"""What an example trains, written once for vkml and PyTorch: their interfaces are the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from vkml.data import DataLoader

Library = Any
"""The module `vkml` or the module `torch`; whatever an example takes from it is in both."""
Batches = Iterable[tuple[Any, Any]]
Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Evaluation:
    """How good a model is: named measures, and for classes how often each was taken for each."""

    measures: dict[str, float]
    confusion: Counts | None = None


@dataclass(frozen=True)
class Task:
    """A model, its optimiser, its loss and its data.

    `build(library)` gives the model, `optimizer(library, parameters)` what trains it,
    `loss(library, model, x, y)` a tensor of rank 0, and `evaluate(library, model, batches)` what
    was learnt. `facts` go into the summary; a checkpoint fits only a task with the same facts.
    `show(model)` may say at the end what the model can do; what it gives goes into the summary.
    """

    build: Callable[[Library], Any]
    optimizer: Callable[[Library, Any], Any]
    loss: Callable[[Library, Any, Any, Any], Any]
    evaluate: Callable[[Library, Any, Batches], Evaluation]
    batches: DataLoader
    tests: DataLoader
    facts: dict[str, Any]
    class_names: Sequence[str] = ()
    show: Callable[[Any], dict[str, Any]] | None = None


def classification(library: Library, model: Any, batches: Batches) -> Evaluation:
    """Count right answers: the class of an image is its largest output."""
    pairs = []
    for x, y in batches:
        outputs = model(x)
        pairs.append((outputs.shape[1], y.tolist(), outputs.argmax(1).tolist()))
    classes = pairs[0][0]
    confusion = np.zeros((classes, classes), np.int64)
    for _, labels, answers in pairs:
        np.add.at(confusion, (labels, answers), 1)
    return Evaluation({"accuracy": float(confusion.trace() / confusion.sum())}, confusion)

"""A run as a checkpoint: weights, optimiser, place in the data, random numbers, history."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import vkml
from kit.options import fail
from kit.task import Task
from vkml import nn


@dataclass
class Progress:
    """How far a run is: the epochs that are over, and the losses of all steps."""

    epochs: list[dict[str, Any]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)


def save(path: Path, task: Task, model: nn.Module, optimizer: Any, progress: Progress) -> None:
    """Write the whole state; the file is the old one until the new one is complete."""
    path.parent.mkdir(parents=True, exist_ok=True)
    state = {
        "facts": task.facts,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "loader": task.batches.state_dict(),
        "random": vkml.get_rng_state(),
        "layers": model.random_state(),
        "epochs": progress.epochs,
        "losses": progress.losses,
    }
    vkml.save(state, path)


def resume(path: Path, task: Task, model: nn.Module, optimizer: Any) -> Progress:
    """Put everything back as it was when the checkpoint was written."""
    try:
        state = vkml.load(path)
        facts = state["facts"]
    except (OSError, vkml.Error) as error:
        fail(error)
    except (KeyError, TypeError):
        fail(f"{path}: is not a checkpoint of one of these examples")
    for name in sorted({*facts, *task.facts}):
        there, here = (f.get(name, "nothing") for f in (facts, task.facts))
        if there != here:
            fail(f"{path}: was made with {name} {there}, this run has {here}")
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    task.batches.load_state_dict(state["loader"])
    vkml.set_rng_state(state["random"])
    model.load_random_state(state["layers"])
    return Progress(state["epochs"], state["losses"])

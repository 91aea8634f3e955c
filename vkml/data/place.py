"""Where a loader is: its epoch and how many batches were handed out; as a dict, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from vkml.data.order import EPOCHS, natural
from vkml_core.errors import ArgumentError, ArgumentTypeError

SHAPE: Final = ("length", "batch_size", "shuffle", "drop_last")
"""What a loader must have in common with the one whose place it takes."""
KEYS: Final = ("seed", "epoch", "batch", *SHAPE)


@dataclass(slots=True)
class Place:
    """An epoch and how many of its batches were handed out."""

    epoch: int
    batch: int = 0


def read_state(
    given: Mapping[str, Any], have: Mapping[str, int], batches: int
) -> tuple[int, Place]:
    """Check what `state_dict` gave and give its seed and place.

    `have` is the state of the loader that takes it. Raises ArgumentTypeError, ArgumentError.
    """
    what = "DataLoader.load_state_dict"
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(f"{what}: expected a dict, got {type(given).__name__}")
    if set(given) != set(KEYS):
        raise ArgumentError(
            f"{what}: expected the keys {sorted(KEYS)}, got {sorted(given, key=str)}"
        )
    state = {key: natural(given[key], f"{what}: {key}") for key in KEYS}
    if differing := [key for key in SHAPE if state[key] != have[key]]:
        told = ", ".join(f"{k} (saved {state[k]}, here {have[k]})" for k in differing)
        raise ArgumentError(f"{what}: the loader differs from the one that was saved: {told}")
    natural(state["epoch"], f"{what}: epoch", EPOCHS)
    if state["batch"] and state["batch"] >= batches:
        raise ArgumentError(f"{what}: batch {state['batch']} of an epoch that has {batches}")
    return state["seed"], Place(state["epoch"], state["batch"])

"""Step counts: parameters that have always stepped together share one tensor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from vkml_core.tensor import Tensor
from vkml_optim.rule import STEP, State


class Advance(NamedTuple):
    """A count in a step: the tensor that is assigned to, and the number of the step."""

    held: Tensor
    number: Tensor


def advance(stepping: Iterable[State], idle: Iterable[State]) -> dict[int, Advance]:
    """Map the id of every count that steps to its advance; each is one addition.

    Where some that share a count do not step now, those that do get a tensor of their own.
    """
    staying = {id(state[STEP]) for state in idle if STEP in state}
    moved: dict[int, Advance] = {}
    for state in stepping:
        old = state[STEP]
        if id(old) not in moved:
            held = old.detach() if id(old) in staying else old
            moved[id(old)] = Advance(held, held + 1.0)
    return moved


def shared(states: Iterable[State]) -> None:
    """Let equal counts on one device be one tensor again. Reads them."""
    known: dict[tuple[str, float], Tensor] = {}
    for state in states:
        if STEP in state:
            count = state[STEP]
            state[STEP] = known.setdefault((count.device, count.item()), count)

"""Where in what a run binds its results and the buffers that it writes are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Final, cast

from vkml_backend_vulkan.layout import Layout
from vkml_backend_vulkan.memory import Buffer
from vkml_core.plan import Plan, SlotKind

Bound = tuple[Buffer, ...]
"""Pages of the workspace, inputs and outputs of a run, as in the layout's bases."""
Pick = Callable[[Bound], Sequence[Buffer]]
"""Gives some of what is bound."""


class Places:
    """Picks from what a run binds."""

    def __init__(
        self, plan: Plan, layout: Layout, shadows: Mapping[int, int], mirrored: Sequence[int]
    ) -> None:
        """`shadows` are the slots with new values of STATE slots, by these."""
        pages = len(layout.pages)
        at = {slot: pages + i for i, slot in enumerate((*plan.inputs, *layout.outputs))}
        written = (SlotKind.STATE, SlotKind.OUTPUT)
        self.results: Final = _picking([at[s] for s in plan.outputs])
        self.written: Final = _picking([at[s.index] for s in plan.slots if s.kind in written])
        self.mirrored: Final = _picking([at[s] for s in mirrored])
        self.replaced: Final = _picking([at[s] for s in shadows])
        self.shadows: Final = _picking([at[s] for s in shadows.values()])


def _picking(places: Sequence[int]) -> Pick:
    """Give what picks from some places: a slice where they are neighbours, else one by one."""
    first = places[0] if places else 0
    if list(places) == list(range(first, first + len(places))):
        return itemgetter(slice(first, first + len(places)))
    return cast("Pick", itemgetter(*places))  # typeshed takes what it gives for one item

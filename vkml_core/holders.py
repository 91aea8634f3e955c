"""Who else holds a value: reference counts tell whether its buffer may be overwritten.

A count that is too high costs a copy, never a wrong value: whoever holds a node, its storage or a
tensor that is computed from it is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import attrgetter
from sys import getrefcount
from types import SimpleNamespace
from typing import Any, Final, NamedTuple

from vkml_core.graph import Node, pending_inputs, reachable
from vkml_core.ops.spec import Kind

_LISTED: Final = next(map(getrefcount, [object()]))
"""The count of what one list holds and nothing else, when it is counted from that list."""


def counts(read: Callable[[Any], object], holders: Iterable[object]) -> list[int]:
    """Give the reference counts of what `read` finds in each of the holders."""
    return list(map(getrefcount, map(read, holders)))


ALONE: Final = counts(attrgetter("node"), [SimpleNamespace(node=object())])[0]
"""What `counts` gives for a thing that only its holder holds."""
_STORAGE: Final = attrgetter("storage")


class Overwritten(NamedTuple):
    """Leaves that a run may overwrite in place, and nodes to compute along so that it may."""

    leaves: list[Node]
    also: list[Node]


def overwritten(order: list[Node], roots: Sequence[Node], targets: Iterable[Node]) -> Overwritten:
    """Choose which leaves the run of `order`, which is what `roots` reach, may overwrite.

    `targets` are pending assignments; each leaf is held once more, by who waits for it. A leaf is
    overwritten if the assigned value is computed in this run, and nobody is left afterwards who
    could ask for the old value: no tensor, and no node that is not computed now. What is held, not
    computed yet, and keeps no history is computed along, as the gradients of a training step are.
    """
    held = list(map(getrefcount, order))
    leaves = {t.inputs[0].serial: t.inputs[0] for t in targets if _replaces(t)}
    if not leaves:
        return Overwritten([], [])
    inner = Counter(map(id, chain.from_iterable(map(pending_inputs, order))))
    outer = {n.serial: count - _LISTED - inner[id(n)] for n, count in zip(order, held, strict=True)}
    asked = {n.serial for n in roots}
    waiting = [n for n in order if n.storage is None and (n.serial in asked or outer[n.serial])]
    keeping = [n for n in waiting if n.requires_grad and n.owner is None]
    kept = {n.serial for n in reachable(keeping, pending_inputs)}
    free = {s: leaf for s, leaf in leaves.items() if s not in kept and outer.get(s) == 1}
    later = _depending(order, set(free))
    also = [n for n in waiting if n.serial in later and n.serial not in asked | kept]
    return Overwritten(list(free.values()), also)


def _replaces(assignment: Node) -> bool:
    """Whether a value that is still to be computed replaces one that only its node holds."""
    if assignment.storage is not None or assignment.op.kind is not Kind.ASSIGN:
        return False
    before, value = assignment.inputs
    while value.storage is None and value.op.kind in (Kind.VIEW, Kind.ASSIGN):
        value = value.inputs[-1]
    return (
        before.storage is not None
        and value.storage is None
        and counts(_STORAGE, [before]) == [ALONE]
    )


def _depending(order: Iterable[Node], leaves: set[int]) -> set[int]:
    """Give the serials of nodes whose computation needs one of the leaves."""
    found = set(leaves)
    for node in order:
        if any(i.serial in found for i in pending_inputs(node)):
            found.add(node.serial)
    return found - leaves

"""What happens between the levels of a plan: barriers, results copied out, the host told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from vkml_backend_vulkan.barriers import COMPUTE, HOST, TRANSFER, BarrierCommand, between
from vkml_backend_vulkan.dispatch import ERRORS
from vkml_backend_vulkan.order import Flat

_EARLY: Final = 4
"""Dispatches that must be left for it to pay that the host is told before the end."""
Copies = Mapping[int, tuple[int, ...]]
"""Places among the mirrored results of those that are copied before a dispatch."""


@dataclass(frozen=True, slots=True)
class Boundaries:
    """Each is before the first dispatch of a level, by that dispatch's number."""

    barriers: tuple[BarrierCommand | None, ...]
    """The one before each dispatch."""
    settles: int
    """Where all that can fail has finished, so that the host is told; −1 if it had better wait for
    the end."""
    copies: Copies


def boundaries(
    flat: Sequence[Flat], mirrored: Sequence[int], *, has_numbers: bool, tells: bool
) -> Boundaries:
    """Find out what to record between dispatches.

    `mirrored` are slots that are copied to the host, each once it is there; a copy of the numbers
    comes before everything, if there are any. The host is told only if it `tells`.
    """
    settles = _settles(flat) if tells else -1
    copies = _copies(flat, mirrored)
    return Boundaries(tuple(_barriers(flat, has_numbers, settles, copies)), settles, copies)


def _settles(flat: Sequence[Flat]) -> int:
    at = _after(flat, ERRORS)
    return at if at is not None and at + _EARLY <= len(flat) else -1


def _copies(flat: Sequence[Flat], mirrored: Sequence[int]) -> Copies:
    found: dict[int, tuple[int, ...]] = {}
    for k, slot in enumerate(mirrored):
        at = _after(flat, slot)
        if at is not None:
            found[at] = (*found.get(at, ()), k)
    return found


def _after(flat: Sequence[Flat], slot: int) -> int | None:
    """Give the dispatch that begins the level after the last one that touches a slot."""
    touching = (i for i, f in enumerate(flat) if any(p.slot == slot for p in f.dispatch.pointers))
    last = max(touching, default=len(flat))
    return next((i for i in range(last + 1, len(flat)) if flat[i].barrier), None)


def _barriers(
    flat: Sequence[Flat], has_numbers: bool, settles: int, copies: Copies
) -> Iterator[BarrierCommand | None]:
    """Give the barriers. The first one waits for the numbers too."""
    before = COMPUTE | (TRANSFER if has_numbers else 0)
    for i, f in enumerate(flat):
        if not f.barrier:
            yield None
            continue
        after = COMPUTE | (HOST if i == settles else 0) | (TRANSFER if i in copies else 0)
        yield between(before, after)
        before = COMPUTE

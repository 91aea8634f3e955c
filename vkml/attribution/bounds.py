"""What bounds a kernel: memory, arithmetic, or that it is too small for the device."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vkml.attribution.ceilings import Ceilings
from vkml.attribution.rows import KernelRow

_CLOSE: Final = 0.6
"""From that part of a ceiling on, the ceiling is what bounds."""
_SMALL: Final = 5_000
"""Nanoseconds that a dispatch takes besides its work: launching it, waiting for the last one."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How much of the device's ceilings a kernel reaches, 1 being all."""

    bandwidth: float
    rate: float


def of_ceilings(row: KernelRow, ceilings: Ceilings | None) -> Reach | None:
    """Compare; None where the ceilings could not be measured."""
    if ceilings is None or not ceilings.bandwidth or not ceilings.rate:
        return None
    return Reach(row.bandwidth / ceilings.bandwidth, row.rate / ceilings.rate)


def bound(row: KernelRow, ceilings: Ceilings | None) -> str:
    """Say what bounds a kernel, and what to try."""
    reach = of_ceilings(row, ceilings)
    if ceilings is None or reach is None:
        return "unknown, since the device's ceilings could not be measured"
    if reach.bandwidth >= max(_CLOSE, reach.rate):
        return (
            f"memory, {reach.bandwidth:.0%} of what a copy reaches; it gets faster only if it "
            "moves less, by fusion or a smaller dtype"
        )
    if reach.rate >= _CLOSE:
        return (
            f"arithmetic, {reach.rate:.0%} of what a large matrix product reaches; it gets faster "
            "only with less work"
        )
    told = f"{reach.bandwidth:.0%} of the copy's bandwidth, {reach.rate:.0%} of the arithmetic"
    if is_small(row, ceilings):
        return (
            f"its size ({told}): {row.alone / max(row.dispatches, 1) / 1e3:.1f} µs a dispatch is "
            "mostly overhead; larger batches or fusion give each dispatch more to do"
        )
    return f"neither memory nor arithmetic ({told}): a better kernel would be faster"


def is_small(row: KernelRow, ceilings: Ceilings) -> bool:
    """Whether a dispatch has so little to do that its overhead is most of its time."""
    least = max(row.bytes / ceilings.bandwidth, row.flops / ceilings.rate) * 1e9
    return least <= _SMALL * max(row.dispatches, 1)

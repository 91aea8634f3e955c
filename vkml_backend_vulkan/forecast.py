"""What a run of a plan takes from the device's memory, told before any of it is taken."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from vkml_backend_vulkan.dispatch import ERROR_BYTES, Lowered
from vkml_backend_vulkan.free_ranges import padded
from vkml_backend_vulkan.instance import Physical
from vkml_backend_vulkan.layout import Layout
from vkml_core.errors import OutOfMemoryError
from vkml_core.plan import Plan, Slot, SlotKind

_LARGEST: Final = 3
"""Slots that an error names."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Bytes that a run takes besides its inputs."""

    outputs: int
    """Of buffers that outlive it."""
    pages: tuple[int, ...]
    """Of arena, numbers and scratch, which all plans of the device share."""
    backups: int
    """Of the STATE buffers' new values, while the old ones may still be needed."""
    records: int
    """Of error records, which the host reads."""

    @property
    def workspace(self) -> int:
        """All pages."""
        return sum(self.pages)

    @property
    def total(self) -> int:
        """All of them."""
        return self.outputs + self.workspace + self.backups + self.records


def forecast(plan: Plan, layout: Layout, shadows: Collection[int] = ()) -> Forecast:
    """Add up what a run of a plan takes; outputs in `shadows` are new values of STATE buffers."""
    sizes = {s: padded(plan.slots[s].nbytes) for s in layout.outputs}
    states = sum(sizes[s] for s in shadows)
    return Forecast(
        outputs=sum(sizes.values()) - states,
        pages=tuple(map(padded, layout.pages)),
        backups=states,
        records=padded(ERROR_BYTES * len(layout.failing)) if layout.failing else 0,
    )


def check_allocations(plan: Plan, lowered: Sequence[Lowered], physical: Physical) -> None:
    """Refuse a plan that needs more in one piece than the device gives. Raises OutOfMemoryError."""
    for slot in plan.slots:
        made = slot.kind in (SlotKind.TEMP, SlotKind.OUTPUT)
        if made and padded(slot.nbytes) > physical.max_allocation:
            raise _refusal(plan, f"{_named(slot)} is one allocation", physical)
    for low in lowered:
        if padded(max(low.scratch, default=0)) > physical.max_allocation:
            what = f"the scratch of a step is one allocation of {max(low.scratch):,} bytes"
            raise _refusal(plan, what, physical)


def _refusal(plan: Plan, what: str, physical: Physical) -> OutOfMemoryError:
    return OutOfMemoryError(
        f"vulkan: this plan cannot run on {physical.name}: {what}, and {physical.max_allocation:,} "
        f"bytes are the limit of one; {largest(plan)}; use smaller batches"
    )


def shortage(plan: Plan, need: Forecast, limits: str) -> OutOfMemoryError:
    """Make the error of a run that does not fit; `limits` tells what there is."""
    return OutOfMemoryError(
        f"vulkan: out of memory before a run, and nothing was changed: it takes {need.total:,} "
        f"bytes ({need.outputs:,} of results, {need.workspace:,} of temporary values and scratch, "
        f"{need.backups:,} of backups); {limits}; {largest(plan)}; free tensors or use smaller "
        f"batches"
    )


def largest(plan: Plan) -> str:
    """Name the largest slots of a plan."""
    found = sorted(plan.slots, key=lambda s: s.nbytes, reverse=True)[:_LARGEST]
    return f"largest slots: {', '.join(map(_named, found))}"


def _named(slot: Slot) -> str:
    return (
        f"slot {slot.index} ({slot.kind.value} {slot.dtype.name}{slot.shape}, "
        f"{slot.nbytes:,} bytes)"
    )

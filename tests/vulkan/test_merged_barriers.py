"""Kernels that share bytes, one of them writing, never run side by side, whatever is moved."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise, product
from typing import TYPE_CHECKING

import needs_vulkan  # noqa: F401
import numpy as np
import pytest
from vkml_conformance.engine import upload
from vkml_conformance.graphs import graph_check
from vkml_conformance.training import digest

import vkml
from vkml_backend_vulkan import order
from vkml_backend_vulkan.dispatch import ERRORS, Dispatch, Lowered
from vkml_backend_vulkan.kernels import shipped
from vkml_backend_vulkan.lower.arrange import Run
from vkml_backend_vulkan.order import flatten
from vkml_core import runtime
from vkml_core.plan import Plan, Slot, SlotKind
from vkml_core.verify import verify

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice

Bytes = tuple[object, int, int]


@dataclass
class Kernel:
    """What runs in the place of one step: the slots that its steps read and write."""

    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    made: set[int] = field(default_factory=set)
    """Slots that it writes, or keeps to itself."""
    dispatches: list[tuple[int, Dispatch]] = field(default_factory=list)
    """Each with how many barriers come before it."""
    shares: bool = False
    """Whether its scratch is that of others, too."""


@dataclass
class Access:
    """The bytes that one dispatch may read and write, those of its slots, and its level."""

    reads: set[Bytes]
    writes: set[Bytes]
    level: int


def place(slot: Slot) -> Bytes:
    if slot.kind is SlotKind.TEMP:
        assert slot.offset is not None
        return "arena", slot.offset, slot.offset + slot.nbytes
    return slot.index, 0, max(slot.nbytes, 1)


def accesses(plan: Plan, kernel: Kernel) -> list[Access]:
    """A kernel has addresses of what its pointers name, and of nothing else."""
    found = []
    for level, dispatch in kernel.dispatches:
        slots = {p.slot for p in dispatch.pointers}
        reads, writes = (
            {place(plan.slots[s]) for s in some & slots} for some in (kernel.reads, kernel.writes)
        )
        found.append(Access(reads, writes, level))
    return found


def only_reports(kernel: Kernel, dispatch: Dispatch) -> bool:
    slots = [p.slot for p in dispatch.pointers]
    return slots[-1] == ERRORS and all(s >= 0 and s not in kernel.writes for s in slots[:-1])


def in_scratch(kernel: Kernel) -> tuple[int, int]:
    """Give the levels from the first to the last dispatch of a kernel that touches its scratch."""
    touching = [level for level, d in kernel.dispatches if any(p.slot < 0 for p in d.pointers)]
    return min(touching), max(touching)


def overlap(some: set[Bytes], others: set[Bytes]) -> bool:
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a in some for b in others)


def places(lowered: Sequence[Lowered]) -> list[int]:
    """Give the step in whose place each step runs."""
    found = list(range(len(lowered)))
    for at, low in enumerate(lowered):
        for i in low.steps or ():
            found[i] = at
    return found


def is_inside(plan: Plan, low: Lowered, slot: int) -> bool:
    """Whether a kernel keeps to itself what its steps write to a slot."""
    stored = low.merged.writes if low.merged is not None else (slot,)
    readers = {i for i, step in enumerate(plan.steps) if slot in {o.slot for o in step.operands}}
    if slot in stored:
        return False
    assert plan.slots[slot].kind is SlotKind.TEMP and low.steps is not None
    assert readers <= set(low.steps), "what others read is stored"
    return True


def kernels(
    plan: Plan, runs: Sequence[Run], device: VulkanDevice, checks_first: bool
) -> list[Kernel]:
    made: dict[int, Kernel] = {}
    limits = device.physical.limits
    lowered = shipped().lowered(plan, limits, runs=runs)
    for i, at in enumerate(places(lowered)):
        step, kernel = plan.steps[i], made.setdefault(at, Kernel())
        reads = {o.slot for o in step.operands if 0 not in o.view.shape}
        kernel.reads |= reads - kernel.made
        kernel.made.add(step.write)
        if not is_inside(plan, lowered[at], step.write):
            kernel.writes.add(step.write)
    for kernel in (made[i] for run in runs for i in run.steps if i in made):
        reads, writes = ({place(plan.slots[s]) for s in k} for k in (kernel.reads, kernel.writes))
        assert not overlap(reads, writes), "rows are read where rows are written"
    owns = order.own_scratch(lowered)
    for i, kernel in made.items():
        kernel.shares = bool(lowered[i].scratch) and not owns[i]
    level = 0
    for flat in flatten(plan, lowered, checks_first=checks_first):
        level += flat.barrier
        made[flat.step].dispatches.append((level, flat.dispatch))
    return [made[i] for i in sorted(made) if made[i].dispatches]  # the others have nothing to do


def check(plan: Plan, device: VulkanDevice, checks_first: bool) -> int:
    """Compare every two kernels; give how many barriers there are."""
    verify(plan)
    physical = device.physical
    plan, runs = shipped().arranged(plan, physical.limits, physical.max_allocation)
    every = kernels(plan, runs, device, checks_first)
    for kernel in every:
        levels = [level for level, d in kernel.dispatches if not only_reports(kernel, d)]
        assert all(a < b for a, b in pairwise(levels)), "each dispatch waits for the last"
        named = {p.slot for _, d in kernel.dispatches for p in d.pointers}
        assert kernel.writes <= named, "what a kernel writes is known by its pointers"
    for before, after in combinations([accesses(plan, kernel) for kernel in every], 2):
        for a, b in product(before, after):
            if overlap(a.writes, b.reads | b.writes) or overlap(a.reads, b.writes):
                assert a.level < b.level, f"{plan}"
    turns = sorted(in_scratch(kernel) for kernel in every if kernel.shares)
    assert all(last < first for (_, last), (first, _) in pairwise(turns)), (
        "scratch is taken in turns"
    )
    return max((level for k in every for level, _ in k.dispatches), default=0)


def plans_of_graph(number: int, name: str) -> Iterator[Plan]:
    subject = graph_check(number).subject
    runtime.clear_cache()
    with np.errstate(all="ignore"):
        vkml.realize(*subject.record(upload(subject.leaves(), name)))
    yield from runtime.cached_plans()


@pytest.fixture(params=[False, True], ids=["as early as each may", "checks first"])
def checks_first(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether checks come first, then however many levels they need."""
    monkeypatch.setattr(order, "CHECK_LEVELS", 10**9)
    return bool(request.param)


@pytest.fixture(params=[order.OWN_SCRATCH, 0], ids=["own scratch", "shared scratch"], autouse=True)
def own(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How large a scratch of its own may be; those that share one take turns."""
    monkeypatch.setattr(order, "OWN_SCRATCH", request.param)


@pytest.mark.parametrize("first", range(0, 200, 10))
def test_random_graphs(name: str, device: VulkanDevice, first: int, checks_first: bool) -> None:
    for number in range(first, first + 10):
        for plan in plans_of_graph(number, name):
            check(plan, device, checks_first)


@pytest.mark.parametrize("model", ["mlp", "cnn", "transformer"])
def test_training_steps(name: str, device: VulkanDevice, model: str, checks_first: bool) -> None:
    runtime.clear_cache()
    digest(model, name, 2)
    longest = max(runtime.cached_plans(), key=lambda plan: len(plan.steps))
    assert check(longest, device, checks_first) < len(longest.steps)

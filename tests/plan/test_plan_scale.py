"""Scheduling stays near-linear: long and wide graphs, judged by counts of steps and calls."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest
from graphs import capabilities, leaf, plan_of

from vkml_core.graph import Node, build, pending_inputs, reachable
from vkml_core.schedule import schedule
from vkml_core.verify import verify


def chain(length: int) -> Node:
    node = leaf(4)
    for i in range(length):
        node = build.neg(node) if i % 2 else build.relu(node)
    return node


def wide(width: int) -> Node:
    x = leaf(4)
    parts = [build.relu(x + float(i)) for i in range(width)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


@pytest.mark.parametrize(("fusion", "steps"), [(False, 100_000), (True, 3125)])
def test_a_chain_of_100_000(fusion: bool, steps: int) -> None:
    plan = plan_of([chain(100_000)], fusion=fusion).plan
    verify(plan, alignment=64)
    assert (len(plan.steps), len(plan.barriers)) == (steps, steps - 1)
    assert plan.arena == 128
    assert sum(1 for _ in plan.ops()) == 100_000


@pytest.mark.parametrize("fusion", [False, True])
def test_one_leaf_with_20_000_consumers_summed(fusion: bool) -> None:
    plan = plan_of([wide(20_000)], fusion=fusion).plan
    verify(plan, alignment=64)
    assert sum(1 for _ in plan.ops()) == 59_999
    assert len(plan.steps) == 59_999 if not fusion else len(plan.steps) < 7000


def python_calls(work: Callable[[], Any]) -> int:
    """Count the Python functions that `work` calls."""
    count = 0

    def note(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("make", [chain, wide])
@pytest.mark.parametrize("fusion", [False, True])
def test_work_grows_with_the_number_of_nodes(make: Callable[[int], Node], fusion: bool) -> None:
    counts = []
    for size in (250, 500, 1000):
        root = make(size)
        order, caps = reachable([root], pending_inputs), capabilities(fusion=fusion)
        counts.append(
            python_calls(lambda o=order, r=root, c=caps: schedule(o, [r], capabilities=c))  # type: ignore[misc]
        )
    assert all(b < 2.2 * a for a, b in pairwise(counts)), counts

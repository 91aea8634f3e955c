"""What is recorded between the levels of a plan, and on a device that its results are right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import needs_vulkan  # noqa: F401
import numpy as np
import pytest
from host_faults import Faults
from host_kernels import KERNELS
from host_support import floats, leaf, planned

from vkml_backend_vulkan.barriers import COMPUTE, HOST, TRANSFER, between
from vkml_backend_vulkan.boundaries import boundaries
from vkml_backend_vulkan.dispatch import ERRORS, Dispatch, Lowered, Pointer
from vkml_backend_vulkan.order import Flat, flatten
from vkml_core.dtypes import float32
from vkml_core.graph import build, const
from vkml_core.plan import Call, Operand, Plan, Slot, SlotKind, Step
from vkml_core.shapes import View

if TYPE_CHECKING:
    from vkml_backend_vulkan.instance import Physical

PLAIN = between(COMPUTE, COMPUTE)
N = 1000


def dispatch(*slots: int) -> Dispatch:
    return Dispatch("m", (1, 1, 1), tuple(Pointer(s, 0) for s in slots), b"")


def levels(*each: Sequence[Sequence[int]]) -> list[Flat]:
    """List dispatches, each given by the slots that it touches, level by level."""
    return [
        Flat(0, dispatch(*slots), level > 0 and i == 0)
        for level, dispatches in enumerate(each)
        for i, slots in enumerate(dispatches)
    ]


def test_barriers_are_between_levels_and_the_first_waits_for_the_numbers() -> None:
    flat = levels([[0], [1]], [[2]], [[3], [4]])
    found = boundaries(flat, (), has_numbers=False, tells=True)
    assert found.barriers == (None, None, PLAIN, PLAIN, None)
    found = boundaries(flat, (), has_numbers=True, tells=True)
    first = between(COMPUTE | TRANSFER, COMPUTE)
    assert found.barriers == (None, None, first, PLAIN, None)
    assert (found.settles, found.copies) == (-1, {})


@pytest.mark.parametrize(
    ("flat", "settles"),
    [
        (levels([[ERRORS], [1]], [[2]], [[3]], [[4]], [[5]]), 2),
        (levels([[1]], [[ERRORS]], [[2]], [[ERRORS], [3]], [[4]], [[5]], [[6], [7]]), 5),
        (levels([[ERRORS], [1], [2], [3], [4]]), -1),  # nothing waits for it
        (levels([[ERRORS]], [[1]], [[2], [3]]), -1),  # too little is left
        (levels([[1]], [[2]]), -1),
        ([], -1),
    ],
)
def test_the_host_is_told_where_a_level_begins(flat: list[Flat], settles: int) -> None:
    found = boundaries(flat, (), has_numbers=False, tells=True)
    assert found.settles == settles
    if settles >= 0:
        assert found.barriers[settles] == between(COMPUTE, COMPUTE | HOST)
        assert found.barriers.count(PLAIN) == sum(f.barrier for f in flat) - 1
    assert boundaries(flat, (), has_numbers=False, tells=False).settles == -1


def test_results_are_copied_when_nothing_touches_them_any_more() -> None:
    flat = levels([[0, 1]], [[1, 2], [3]], [[3, 4]], [[5]])
    found = boundaries(flat, (5, 2, 1, 3), has_numbers=False, tells=False)
    assert found.copies == {3: (1, 2), 4: (3,)}
    copying = between(COMPUTE, COMPUTE | TRANSFER)
    assert found.barriers == (None, PLAIN, None, copying, copying)


def test_what_reads_numbers_waits_for_their_copy_and_nothing_else_does() -> None:
    slots = (
        Slot(0, SlotKind.INPUT, (4,), float32),
        Slot(1, SlotKind.SCALAR, (), float32),
        Slot(2, SlotKind.OUTPUT, (4,), float32),
        Slot(3, SlotKind.OUTPUT, (4,), float32),
    )
    view, number = View.of((4,)), View((4,), (0,))
    call = Call("add", None, (0, 1), (4,), float32)
    plain = Step((replace(call, args=(0, 0)),), (Operand(0, view),), 2)
    scaled = Step((call,), (Operand(0, view), Operand(1, number)), 3)
    plan = Plan(slots, (scaled, plain), (0,), (1,), (2, 3))
    lowered = [Lowered((dispatch(3, 0, 1),)), Lowered((dispatch(2, 0),))]
    assert [(f.step, f.barrier) for f in flatten(plan, lowered)] == [(1, False), (0, True)]
    alone = Plan((*slots[:2], slots[3]), (replace(scaled, write=2),), (0,), (1,), (2,))
    (only,) = flatten(alone, [Lowered((dispatch(2, 0, 1),))])
    assert only.barrier


@pytest.mark.parametrize("after", [0, 1, 20])
def test_a_small_result_is_copied_while_others_are_made(
    physical: Physical, driver: Faults, tmp_path: Path, after: int
) -> None:
    """Results are right in the first run and in replays, with numbers that change."""
    from vkml_backend_vulkan.device import VulkanDevice

    gpu = VulkanDevice(physical, KERNELS, tmp_path, mapped=False)
    told: list[str] = []
    for name in ("vkCmdCopyBuffer", "vkCmdDispatch"):
        real = getattr(driver._lib, name)
        driver.replace(name, lambda *a, r=real, n=name: (told.append(n), r(*a))[1])
    a, b = leaf(gpu, small := floats(3)), leaf(gpu, large := floats(N, seed=1))
    node = b
    for _ in range(after):
        node = build.add(node, const(node, 0.0))
    roots = [build.add(a, const(a, 0.0)), build.add(node, const(node, 0.0))]
    made, inputs, numbers = planned(gpu, roots)
    gpu.synchronize()
    told.clear()
    for i in range(10):
        results = made.run(inputs, [float(i)] * len(numbers))
        if i == 0:
            last = len(told) - 1 - told[::-1].index("vkCmdDispatch")
            copies = [k for k, name in enumerate(told) if name == "vkCmdCopyBuffer"]
            assert copies[0] == 0 and (copies[-1] < last) == bool(after)
        got = gpu.download(results[0], (3,), float32)
        assert got.tobytes() == (small + np.float32(i)).tobytes()
        want = large
        for _ in range(after + 1):
            want = want + np.float32(i)
        assert gpu.download(results[1], (N,), float32).tobytes() == want.tobytes()
    gpu.close()

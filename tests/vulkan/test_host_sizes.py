"""Arrays, slots and views beyond what 32-bit offsets reach are refused by name."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import needs_vulkan  # noqa: F401
import numpy as np
import pytest
from single import Source, plan_of

from vkml_core.dtypes import float32
from vkml_core.errors import OutOfMemoryError
from vkml_core.plan import Operand, Plan, Slot, SlotKind
from vkml_core.shapes import View

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice


@pytest.mark.parametrize("dtype", [np.float16, np.bool_, np.float32, np.int64])
def test_uploads_of_too_many_elements_are_refused(device: VulkanDevice, dtype: type) -> None:
    huge = np.broadcast_to(dtype(0), (2, 2**30))
    with pytest.raises(OutOfMemoryError, match=r"\(2, 1073741824\), has 2,147,483,648 elements"):
        device.upload(huge)


def _viewed(shape: tuple[int, ...], view: View) -> Plan:
    """Sum a view of an input."""
    plan = plan_of("sum", _axes(len(view.shape)), [Source(np.zeros(1, np.float32), view)])
    slot = Slot(0, SlotKind.INPUT, shape, float32)
    step = replace(plan.steps[0], operands=(Operand(0, view),))
    return replace(plan, slots=(slot, *plan.slots[1:]), steps=(step,))


def _axes(rank: int) -> Any:
    from vkml_core.ops.spec import REGISTRY

    made: Any = REGISTRY["sum"].attrs
    return made(axes=tuple(range(rank)))


@pytest.mark.parametrize(
    ("shape", "view", "said"),
    [
        ((2**31,), View((2,), (1,)), r"slot 0, float32\(2147483648,\), has 2,147,483,648"),
        ((4,), View((2**16, 2**15, 4), (0, 0, 1)), "step 0, sum: a view of slot 0.* elements"),
        ((4,), View((2, 1), (1, 2**31)), "has offset 0 and strides"),
        ((4,), View((1,), (1,), 2**31), "has offset 2147483648"),
        ((4,), View((1, 4), (-(2**31), 1)), "has offset 0 and strides"),
    ],
)
def test_what_32_bits_do_not_reach_is_refused(
    device: VulkanDevice, shape: tuple[int, ...], view: View, said: str
) -> None:
    with pytest.raises(OutOfMemoryError, match=said):
        device.compile(_viewed(shape, view))


def test_the_largest_that_32_bits_reach_is_compiled(device: VulkanDevice) -> None:
    whole = 2**31 - 1
    device.compile(_viewed((whole,), View((3,), (2**30 - 1,), 0)))
    device.compile(_viewed((4,), View((whole,), (0,), 3)))

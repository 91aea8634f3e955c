"""Plans of small arrays begin with kernels that all plans share; those that stay get their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from vkml_backend_vulkan.commands import VulkanExecutable
from vkml_backend_vulkan.forecast import Forecast
from vkml_backend_vulkan.memory import Buffer
from vkml_core.dtypes import Scalar
from vkml_core.plan import Plan
from vkml_core.shapes import size

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice

SHARED_RUNS: Final = 2
"""Runs of a plan by kernels that ship with vkml. Drivers take some 10 to 300 ms to compile one, and
one that is linked for a plan is rarely of use to another, so it has to be worth it."""
SMALL: Final = 1 << 16
"""Elements of the largest array up to which a plan begins so: larger ones gain at once."""


def executable(device: VulkanDevice, plan: Plan) -> Ready:
    """Make a plan ready. Raises what VulkanExecutable does."""
    return Warming(device, plan) if begins_shared(plan) else VulkanExecutable(device, plan)


def begins_shared(plan: Plan) -> bool:
    """Whether the first runs of a plan are by shared kernels."""
    calls = [call for step in plan.steps for call in step.calls]
    return SHARED_RUNS > 0 and len(calls) > 1 and max(size(c.shape) for c in calls) <= SMALL


class Warming:
    """A plan whose kernels are linked when it has been run `SHARED_RUNS` times. The bits are the
    same before and after.
    """

    def __init__(self, device: VulkanDevice, plan: Plan) -> None:
        """Lower the plan to shared kernels. The caller holds the device's lock."""
        self._device = device
        self._plan = plan
        self._left = SHARED_RUNS
        self._now = VulkanExecutable(device, plan, linked=False)

    def forecast(self) -> Forecast:
        """Tell the bytes that a run takes besides its inputs."""
        return self._now.forecast()

    def run(self, inputs: Sequence[Buffer], scalars: Sequence[Scalar]) -> list[Buffer]:
        """Run as VulkanExecutable does."""
        if self._left >= 0:
            with self._device.lock:
                self._count()
        return self._now.run(inputs, scalars)

    def _count(self) -> None:
        if not self._left:
            self._now = VulkanExecutable(self._device, self._plan)
        self._left -= 1


Ready = VulkanExecutable | Warming
"""What `executable` gives."""

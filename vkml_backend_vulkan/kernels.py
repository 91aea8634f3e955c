"""What a device runs plans with: lowerings by kind of operation, and the modules they name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from vkml_backend_vulkan.dispatch import Limits, Lower, Lowered
from vkml_backend_vulkan.pipeline import Modules, shipped_module
from vkml_core.errors import UnsupportedOpError
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Plan


@dataclass(frozen=True, slots=True)
class Kernels:
    """The operations that can run, how a step of each kind is lowered, and the SPIR-V."""

    ops: frozenset[str]
    lower: Mapping[Kind, Lower]
    modules: Modules

    def lowered(self, plan: Plan, limits: Limits) -> tuple[Lowered, ...]:
        """Lower each step. Raises UnsupportedOpError listing all that is missing."""
        missing = sorted(set(plan.ops()) - self.ops)
        if missing:
            raise UnsupportedOpError(
                f"vulkan: lacks {', '.join(missing)}, which this graph needs; "
                'move the tensors to the CPU with .to("cpu")'
            )
        return tuple(
            self.lower[REGISTRY[step.calls[-1].op].kind](step, plan.slots, limits)
            for step in plan.steps
        )


def shipped() -> Kernels:
    """Give the kernels that come with vkml."""
    from vkml_backend_vulkan.lower import LOWER, OPS

    return Kernels(OPS, LOWER, shipped_module)

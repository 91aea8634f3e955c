"""Which kernel a lowering chose, as the decision that is published when the plan runs."""

from __future__ import annotations

from vkml_backend_vulkan.dispatch import Limits
from vkml_core.decisions import Decision

ONE_OUTPUT, TILES, SLICES = "one output an invocation", "tiles", "tiles and slices of k"


def decision(
    op: str,
    chose: str,
    instead: tuple[str, ...],
    because: str,
    limits: Limits,
    *,
    invocations: int = 1,
    shared: int = 0,
) -> Decision:
    """Describe a choice; `invocations` and bytes of `shared` memory are what a workgroup needs."""
    return Decision(
        site=f"vulkan.{op}",
        op=op,
        chose=chose,
        instead=instead,
        because=because,
        required={"invocations": invocations, "shared": shared},
        available={"invocations": limits.invocations, "shared": limits.shared},
    )

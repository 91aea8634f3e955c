"""What a device runs plans with: lowerings by kind of operation, and the modules they name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vkml_backend_vulkan.dispatch import Limits, Lower, Lowered
from vkml_backend_vulkan.link.emit import is_fused, module
from vkml_backend_vulkan.lower import LOWER, OPS, epilogue, fused
from vkml_backend_vulkan.lower.checks import with_checks
from vkml_backend_vulkan.lower.merge import merged
from vkml_backend_vulkan.lower.split import Choose, ending, first_call, one_by_one, parts
from vkml_backend_vulkan.pipeline import Modules, shipped_module
from vkml_core.errors import UnsupportedOpError
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Plan, Slot, Step
from vkml_core.work import Done


@dataclass(frozen=True, slots=True)
class Kernels:
    """The operations that can run, how a step of each kind is lowered, and the SPIR-V."""

    ops: frozenset[str]
    lower: Mapping[Kind, Lower]
    modules: Modules

    def lowered(self, plan: Plan, limits: Limits, *, linked: bool = True) -> tuple[Lowered, ...]:
        """Lower each step, each call to a shipped kernel of its own unless kernels may be `linked`.

        Raises UnsupportedOpError listing all that is missing.
        """
        missing = sorted(set(plan.ops()) - self.ops)
        if missing:
            raise UnsupportedOpError(
                f"vulkan: lacks {', '.join(missing)}, which this graph needs; "
                'move the tensors to the CPU with .to("cpu")'
            )
        plan = with_checks(plan)
        runs = merged(plan) if linked else {}
        cut = fused.cut if linked else first_call
        return tuple(
            self._run(i, runs[i], plan.slots, limits)
            if i in runs
            else self._lowered(step, plan.slots, limits, cut)
            for i, step in enumerate(plan.steps)
        )

    def _run(
        self, i: int, work: fused.Work | None, slots: Sequence[Slot], limits: Limits
    ) -> Lowered:
        """Lower what one kernel can do in the place of step `i`; nothing in the place of the other
        steps that it is for.
        """
        if work is None:
            return Lowered(())
        done = Done(work.calls, work.operands, tuple(slot for slot, _ in work.writes))
        count = len(work.writes)
        if not fused.is_alone(work.calls[0]):
            steps = range(i + 1 - count, i + 1)
            return replace(fused.lower(work, slots, limits), merged=done, steps=steps)
        head = Step(work.calls, work.operands, work.writes[0][0])
        lowered = self._part(ending(head, 0, head.write), slots, limits)
        steps = range(i, i + count)
        return replace(epilogue.lower(work, slots, lowered, limits), merged=done, steps=steps)

    def _lowered(self, step: Step, slots: Sequence[Slot], limits: Limits, cut: Choose) -> Lowered:
        """Lower a step of one call, or of several, which `cut` cuts into parts."""
        if len(step.calls) == 1:
            return self._part(step, slots, limits)
        named = list(slots)
        return one_by_one(parts(step, named, cut), named, len(slots), limits, self._part)

    def _part(self, step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
        if len(step.calls) > 1:
            return fused.lower(fused.Work.of(step), slots, limits)
        return self.lower[REGISTRY[step.calls[0].op].kind](step, slots, limits)


def modules(name: str) -> bytes:
    """Give the SPIR-V of a module by its name: a shipped file, or one made by that name."""
    return module(name) if is_fused(name) else shipped_module(name)


def shipped() -> Kernels:
    """Give the kernels that come with vkml."""
    return Kernels(OPS, LOWER, modules)

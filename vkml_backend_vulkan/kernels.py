"""What a device runs plans with: lowerings by kind of operation, and the modules they name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from vkml_backend_vulkan.dispatch import Limits, Lower, Lowered
from vkml_backend_vulkan.free_ranges import ALIGNMENT
from vkml_backend_vulkan.link.emit import is_fused, module
from vkml_backend_vulkan.lower import LOWER, OPS, epilogue, fused, rows
from vkml_backend_vulkan.lower.arrange import Run, arranged
from vkml_backend_vulkan.lower.checks import with_checks
from vkml_backend_vulkan.lower.merge import merged
from vkml_backend_vulkan.lower.row_groups import Uses, can_fail, work_of
from vkml_backend_vulkan.lower.split import ending, first_call, one_by_one, parts
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

    def arranged(self, plan: Plan, limits: Limits, page: int) -> tuple[Plan, tuple[Run, ...]]:
        """Give the plan in the order in which its steps are merged, and the runs of steps that
        kernels for rows do. No slot crosses a multiple of `page`.
        """
        return arranged(plan, limits, alignment=ALIGNMENT, page=page)

    def lowered(
        self, plan: Plan, limits: Limits, *, linked: bool = True, runs: Sequence[Run] = ()
    ) -> tuple[Lowered, ...]:
        """Lower each step, each call to a shipped kernel of its own unless kernels may be `linked`.
        `runs` are what `arranged` gave.

        Raises UnsupportedOpError listing all that is missing.
        """
        missing = sorted(set(plan.ops()) - self.ops)
        if missing:
            raise UnsupportedOpError(
                f"vulkan: lacks {', '.join(missing)}, which this graph needs; "
                'move the tensors to the CPU with .to("cpu")'
            )
        plan = with_checks(plan)
        uses = Uses.of(plan)
        whole = {i: low for run in runs for i, low in _whole_rows(plan, run, uses, limits)}
        pairs = merged(plan, whole) if linked else {}
        return tuple(
            whole.get(i)
            or (
                self._run(i, pairs[i], plan.slots, limits)
                if i in pairs
                else self._lowered(step, plan.slots, limits, linked)
            )
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

    def _lowered(self, step: Step, slots: Sequence[Slot], limits: Limits, linked: bool) -> Lowered:
        """Lower a step of one call, or of several, which are cut into parts."""
        cut, part = (fused.cut, self._part) if linked else (first_call, self._shipped)
        if len(step.calls) == 1:
            return part(step, slots, limits)
        named = list(slots)
        return one_by_one(parts(step, named, cut), named, len(slots), limits, part)

    def _part(self, step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
        if len(step.calls) > 1 or fused.is_double(step.calls):
            return fused.lower(fused.Work.of(step), slots, limits)
        return self._shipped(step, slots, limits)

    def _shipped(self, step: Step, slots: Sequence[Slot], limits: Limits) -> Lowered:
        """Lower a step of one call to a shipped kernel."""
        return self.lower[REGISTRY[step.calls[0].op].kind](step, slots, limits)


def _whole_rows(plan: Plan, run: Run, uses: Uses, limits: Limits) -> Iterator[tuple[int, Lowered]]:
    """Lower the steps of a run in the place of the first that can fail, which is then named, or
    of the last one.
    """
    work = work_of(plan, run.steps, uses)
    done = Done(work.calls, work.operands, tuple(slot for slot, _ in work.writes))
    lowered = rows.lower(work, run.form, plan.slots, limits)
    at = next((i for i in run.steps if can_fail(plan.steps[i])), run.steps[-1])
    yield from ((i, Lowered(())) for i in run.steps)
    yield at, replace(lowered, merged=done, steps=run.steps)


def modules(name: str) -> bytes:
    """Give the SPIR-V of a module by its name: a shipped file, or one made by that name."""
    return module(name) if is_fused(name) else shipped_module(name)


def shipped() -> Kernels:
    """Give the kernels that come with vkml."""
    return Kernels(OPS, LOWER, modules)

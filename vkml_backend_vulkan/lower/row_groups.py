"""Which steps of a plan one kernel for rows can do: not only neighbours, whatever comes between."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from vkml_backend_vulkan.dispatch import Limits
from vkml_backend_vulkan.lower import rows
from vkml_backend_vulkan.lower.fused import Work, is_alone
from vkml_backend_vulkan.lower.row_forms import Form, fits, form_of, has_full
from vkml_core.ops.spec import REGISTRY, Kind
from vkml_core.plan import Plan, SlotKind, Step

_REPORTING: Final = frozenset({"max_unpool2d"})
"""Operations that can fail, besides those of indices and element-wise ones."""


@dataclass(frozen=True, slots=True)
class Group:
    """Steps by number, in order, that touch rows of one form."""

    steps: tuple[int, ...]
    form: Form


@dataclass(frozen=True, slots=True)
class Uses:
    """Which step writes a slot, and which read it."""

    writer: dict[int, int]
    readers: dict[int, set[int]]

    @staticmethod
    def of(plan: Plan) -> Uses:
        """Look through a plan."""
        readers: dict[int, set[int]] = {}
        for i, step in enumerate(plan.steps):
            for o in step.operands:
                readers.setdefault(o.slot, set()).add(i)
        return Uses({step.write: i for i, step in enumerate(plan.steps)}, readers)


def groups(plan: Plan, limits: Limits) -> list[Group]:
    """Find the groups of at least two steps. A step is in one at most, and groups do not wait for
    each other in circles. The largest arrays come first.
    """
    order, uses = Order(plan), Uses.of(plan)
    fitting: dict[Form, frozenset[int]] = {}
    seeds = [
        (form, i)
        for i, step in enumerate(plan.steps)
        if (form := form_of(step)) is not None and fits(step, form, plan.slots)
    ]
    found: list[Group] = []
    taken: set[int] = set()
    for form, i in sorted(seeds, key=lambda seed: (-seed[0].rows * seed[0].n, seed[1])):
        if i in taken:
            continue
        if form not in fitting:
            fitting[form] = frozenset(
                k for k, step in enumerate(plan.steps) if fits(step, form, plan.slots)
            )
        steps = _Growing(plan, uses, limits, order, form, fitting[form] - taken).grown(i)
        if len(steps) > 1:
            found.append(Group(tuple(steps), form))
            taken.update(steps)
            order.unite(steps)
    return found


def can_fail(step: Step) -> bool:
    """Whether a step may report an error. Such steps stay in their order."""
    return any(
        REGISTRY[c.op].kind is Kind.INDEX
        or c.op in _REPORTING
        or (REGISTRY[c.op].kind is Kind.ELEMENTWISE and is_alone(c))
        for c in step.calls
    )


def needs(plan: Plan) -> list[set[int]]:
    """Give the earlier steps that each step needs: writers of what it reads, readers of the old
    value of what it writes, and, if it can fail, the last step before it that can. Places in the
    arena do not count: they are given anew.
    """
    writers: dict[int, int] = {}
    readers: dict[int, set[int]] = {}
    failing: set[int] = set()
    found = []
    for i, step in enumerate(plan.steps):
        reads = {o.slot for o in step.operands}
        own = {writers[s] for s in reads if s in writers} | readers.get(step.write, set())
        if can_fail(step):
            own, failing = own | failing, {i}
        for slot in reads:
            readers.setdefault(slot, set()).add(i)
        writers[step.write] = i
        found.append(own - {i})
    return found


class Order:
    """What comes before and after each step, as sets of bits; the steps of a group are as one."""

    def __init__(self, plan: Plan) -> None:
        """Every step is by itself."""
        direct = needs(plan)
        self._before = [0] * len(direct)
        self._after = [0] * len(direct)
        for i, own in enumerate(direct):
            for k in own:
                self._before[i] |= self._before[k] | 1 << k
        for i in reversed(range(len(direct))):
            for k in direct[i]:
                self._after[k] |= self._after[i] | 1 << i

    def between(self, steps: Sequence[int]) -> set[int]:
        """Give the others that have to run between some of the steps: with them, all can run as
        one.
        """
        _, before, after = self._around(steps)
        return set(_bits(before & after))

    def unite(self, steps: Sequence[int]) -> None:
        """Let the steps run as one from now on."""
        own, before, after = self._around(steps)
        for i in steps:
            self._before[i], self._after[i] = before, after
        for i in _bits(after):
            self._before[i] |= own | before
        for i in _bits(before):
            self._after[i] |= own | after

    def _around(self, steps: Sequence[int]) -> tuple[int, int, int]:
        own = before = after = 0
        for i in steps:
            own |= 1 << i
            before |= self._before[i]
            after |= self._after[i]
        return own, before & ~own, after & ~own


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


@dataclass(slots=True)
class _Growing:
    """One group in the making."""

    plan: Plan
    uses: Uses
    limits: Limits
    order: Order
    form: Form
    others: frozenset[int]
    """Steps that may join."""

    def grown(self, seed: int) -> list[int]:
        """Add steps, as long as there is one, that touch elements which the group reads or gives,
        or values of rows that it gives; with them what has to run between.
        """
        steps = [seed]
        before = 0 if self._is_possible(steps) else 1
        while len(steps) > before:
            before = len(steps)
            for i in self._related(steps):
                more = self.order.between((*steps, i)).union((i, *steps))
                if i in steps or not more <= self.others:
                    continue
                if self._is_possible(sorted(more)):
                    steps = sorted(more)
        return steps

    def _related(self, steps: Sequence[int]) -> list[int]:
        """List the others that read what the steps give, or give elements that these read."""
        given = (self.plan.steps[k].write for k in steps)
        found = {i for slot in given for i in self.uses.readers.get(slot, ())}
        read = {o.slot for k in steps for o in self.plan.steps[k].operands}
        makers = {self.uses.writer[slot] for slot in read if slot in self.uses.writer}
        found |= {i for i in makers if has_full(self.plan.steps[i], self.form)}
        return sorted((found & self.others) - set(steps))

    def _is_possible(self, steps: Sequence[int]) -> bool:
        if not self._reads_in_place(steps):
            return False
        work = work_of(self.plan, steps, self.uses)
        return rows.takes(work, self.form, self.plan.slots, self.limits)

    def _reads_in_place(self, steps: Sequence[int]) -> bool:
        """Whether what the group gives and reads itself is read in the places where it is made,
        and nothing is overwritten that other invocations may still read.
        """
        made: dict[int, Step] = {}
        read: set[int] = set()
        for step in (self.plan.steps[k] for k in steps):
            for o in step.operands:
                if o.slot not in made:
                    read.add(o.slot)
                elif not self.form.reads_value(o.view, made[o.slot].calls[-1].shape):
                    return False
            made[step.write] = step
        return not read & made.keys()


def work_of(plan: Plan, steps: Sequence[int], uses: Uses) -> Work:
    """Give the work of steps in order. Of what only they read nothing is stored."""
    whole, *others = (Work.of(plan.steps[i]) for i in steps)
    for work in others:
        whole = whole.then(work)
    kept = tuple(
        (slot, k)
        for slot, k in whole.writes
        if plan.slots[slot].kind is not SlotKind.TEMP
        or not uses.readers.get(slot, set()) <= set(steps)
    )
    return Work(whole.calls, whole.operands, kept)

"""Kernels for rows as modules and as work: what links, and which steps go together."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import needs_vulkan  # noqa: F401
import pytest

from tests.vulkan.test_fused_modules import check, needs_validator
from vkml_backend_vulkan.dispatch import Limits
from vkml_backend_vulkan.kernels import modules
from vkml_backend_vulkan.link import rows as link
from vkml_backend_vulkan.link.program import Apply
from vkml_backend_vulkan.link.rows import Rows, Source, Store
from vkml_backend_vulkan.lower import rows
from vkml_backend_vulkan.lower.arrange import arranged
from vkml_backend_vulkan.lower.row_forms import Form
from vkml_backend_vulkan.lower.row_groups import Order, Uses, groups, work_of
from vkml_backend_vulkan.shaders.tables.elementwise import VALUE
from vkml_backend_vulkan.shaders.tables.library import LONG, RESULTS
from vkml_backend_vulkan.shaders.tables.rows import GATHERED, INDICES, REDUCED, SCATTERED, STORED
from vkml_core.dtypes import float32, int64
from vkml_core.plan import Call, Operand, Plan, Slot, SlotKind, Step
from vkml_core.plan_rules import add_barriers, dependencies, place
from vkml_core.shapes import View

LIMITS = Limits(256, 32768, (65535, 65535, 65535))
FULL, ROW = Source("f32", "q", "n", 0, 1), Source("f32", "r", "1", 0, 2)


def program(*calls: Apply, operands: tuple[Source, ...] = (FULL, ROW), quads: int = 2) -> Rows:
    """The calls, their last result being kept for each element."""
    made = Rows((Store("f32", "q", len(calls) - 1, 0),), operands, calls, quads)
    assert link.parse(made.name) == made
    return made


@needs_validator
def test_every_reduction_links(tmp_path: Path) -> None:
    names = []
    for op, tokens in REDUCED.items():
        for token in tokens:
            source = Source(token, "q", "n", 0, 1)
            cast = Apply(f"cast_{token}_f32", (-1,))
            names += [
                program(Apply(f"row_{op}_{token}", (0,)), cast, operands=(source,), quads=q).name
                for q in (1, 4)
            ]
    check(tmp_path, [modules(name) for name in names])


@needs_validator
def test_every_way_to_pick_and_put_links(tmp_path: Path) -> None:
    names = []
    for index in INDICES:
        at = Source(index, "r", "1", 0, 2)
        for token in {*GATHERED, *SCATTERED}:
            x = Source(token, "q", "n", 0, 1)
            for checked in ("", link.CHECKED):
                calls = (
                    Apply(f"row_gather_{token}_{index}{checked}", (0, 1)),
                    Apply(f"row_scatter_{token}_{index}{link.CHECKED}", (-1, 1)),
                    Apply(f"cast_{token}_f32", (-2,)),
                )
                made = program(*calls, operands=(x, at))
                assert made.fails == (not checked)
                names.append(made.name)
    check(tmp_path, [modules(name) for name in names])


@needs_validator
def test_every_long_function_of_a_row_links(tmp_path: Path) -> None:
    """Once a row, and of each element."""
    names = []
    for function, result in RESULTS.items():
        op, _, token = function.rpartition("_")
        if op in LONG and result == "f32" and token == "f32":
            two = op in ("div", "pow", "remainder", "floor_divide")
            of_row, of_each = ((1, 1), (0, -1)) if two else ((1,), (0,))
            calls = Apply(function, of_row), Apply(function, of_each)
            names.append(program(*calls, Apply("add_f32", (-1, -2))).name)
    assert len(names) > 15
    check(tmp_path, [modules(name) for name in names])


@needs_validator
def test_every_way_to_read_and_store_links(tmp_path: Path) -> None:
    names = []
    for token in VALUE:
        for form in "qer":
            sources = tuple(Source(token, form, s, 3, 1 + i) for i, s in enumerate("n01w"))
            calls = (Apply(f"cast_{token}_f32", (0,)), *(Apply("neg_f32", (-1,)),) * 3)
            calls += tuple(Apply(f"cast_{token}_f32", (i,)) for i in (1, 2, 3))
            names.append(Rows((Store("f32", form, 6, 0),), sources, calls, 1).name)
        for form in "qer" if token in STORED else "q":
            source = Source("f32", "r" if form == "r" else "e", "n", 0, 1)
            kept = (Store(token, form, 0, 0),)
            names.append(Rows(kept, (source,), (Apply(f"cast_f32_{token}", (0,)),), 3).name)
    check(tmp_path, [modules(name) for name in names])


def test_names_that_tell_nothing_are_refused() -> None:
    for name in ("rows:", "rows:f32=q0@0|f32.qn0@1|x|neg_f32(0)", "rows:f32=z0@0|f32.qn0@1|1|a(0)"):
        with pytest.raises(ValueError, match="no fused module"):
            modules(name)
    with pytest.raises(KeyError):
        modules("rows:f32=q0@0|f32.qn0@1|1|none_f32(0)")


def test_rows_are_held() -> None:
    for n, many in product(range(2, 4097), (1, 1 << 20)):
        width, quads = rows.held(n, many)
        assert n <= 4 * width * quads, "there is room for all of it"
        assert width == 1 or n > 2 * width * quads, "and half of the room would not do"
        assert width & (width - 1) == 0 and quads & (quads - 1) == 0


class Maker:
    """Steps over arrays of rows × n or of rows, as a plan."""

    def __init__(self, rows: int, n: int) -> None:
        self.form = Form(rows, n)
        self.slots: list[Slot] = []
        self.steps: list[Step] = []

    def slot(self, *shape: int, kind: SlotKind = SlotKind.TEMP, dtype: Any = float32) -> int:
        self.slots.append(Slot(len(self.slots), kind, shape, dtype))
        return len(self.slots) - 1

    def given(self, *shape: int, dtype: Any = float32) -> int:
        return self.slot(*shape, kind=SlotKind.INPUT, dtype=dtype)

    def step(self, op: str, *reads: int, attrs: Any = None, shape: tuple[int, ...] = ()) -> int:
        full = (self.form.rows, self.form.n)
        shape = shape or full
        views = []
        for s in reads:
            view = View.of(self.slots[s].shape)
            if len(view.shape) == 1 and len(shape) == 2:
                view = View(shape, (1, 0))
            views.append(view)
        operands = tuple(Operand(s, v) for s, v in zip(reads, views, strict=True))
        write = self.slot(*shape)
        call = Call(op, attrs, tuple(range(len(reads))), shape, float32)
        self.steps.append(Step((call,), operands, write))
        return write

    def sum(self, x: int) -> int:
        from vkml_core.ops.reduce import Axes

        return self.step("sum", x, attrs=Axes((1,)), shape=(self.form.rows,))

    def across(self, x: int) -> int:
        """A sum over the rows, which no kernel for rows does."""
        from vkml_core.ops.reduce import Axes

        return self.step("sum", x, attrs=Axes((0,)), shape=(self.form.n,))

    def plan(self, *outputs: int) -> Plan:
        for out in outputs:
            old = self.slots[out]
            self.slots[out] = Slot(out, SlotKind.OUTPUT, old.shape, old.dtype)
        inputs = tuple(s.index for s in self.slots if s.kind is SlotKind.INPUT)
        made = Plan(tuple(self.slots), tuple(self.steps), inputs, (), outputs)
        return add_barriers(place(made))


def test_steps_that_are_no_neighbours_go_together() -> None:
    m = Maker(6, 8)
    x, other = m.given(6, 8), m.given(9, 9)
    s = m.sum(x)
    apart = m.step("neg", other, shape=(9, 9))
    y = m.step("sub", x, s)
    plan = m.plan(y, apart)
    assert [g.steps for g in groups(plan, LIMITS)] == [(0, 2)]
    moved, (run,) = arranged(plan, LIMITS, alignment=64, page=1 << 20)
    assert len(run.steps) == 2 and set(moved.steps) == set(plan.steps)
    assert [moved.steps[i].write for i in run.steps] == [s, y]


def test_what_has_to_run_between_keeps_steps_apart() -> None:
    """x − sum(y): where y is a product of what the group has given, two kernels remain."""
    m = Maker(8, 8)
    x = m.given(8, 8)
    y = m.step("sub", x, m.sum(x))
    between = m.step("matmul", y, y, shape=(8, 8))
    z = m.step("mul", between, m.sum(y))
    plan = m.plan(z)
    found = [set(g.steps) for g in groups(plan, LIMITS)]
    assert all(not {1, 4} <= steps for steps in found), "the product is not done yet"
    moved, runs = arranged(plan, LIMITS, alignment=64, page=1 << 20)
    alone = {i for run in runs for i in run.steps}
    units = [*(r.steps for r in runs), *(range(i, i + 1) for i in range(5) if i not in alone)]
    for i, own in enumerate(dependencies(moved, sorted(units, key=lambda r: r.start))):
        assert all(k < i for k in own)


def test_two_groups_never_wait_for_each_other() -> None:
    m = Maker(4, 8)
    a, b = m.given(4, 8), m.given(4, 8)
    sa, sb = m.sum(a), m.sum(b)
    ca, cb = m.across(a), m.across(b)
    del ca, cb
    y = m.step("sub", a, sa)
    z = m.step("sub", b, sb)
    plan = m.plan(m.step("add", y, z))
    order, found = Order(plan), groups(plan, LIMITS)
    for group in found:
        assert not order.between(group.steps)
        order.unite(group.steps)
    for group in found:
        assert not order.between(group.steps)


def test_inner_results_take_no_memory_and_share_none() -> None:
    m = Maker(64, 256)
    x = m.given(64, 256)
    d = m.step("sub", x, m.sum(x))
    y = m.step("mul", d, m.sum(m.step("mul", d, d)))
    plan = m.plan(m.step("neg", m.step("matmul", y, m.given(256, 3), shape=(64, 3)), shape=(64, 3)))
    moved, (run,) = arranged(plan, LIMITS, alignment=64, page=1 << 20)
    kept = {slot for slot, _ in work_of(moved, run.steps, Uses.of(moved)).writes}
    assert kept == {y}
    inner = [moved.slots[moved.steps[i].write] for i in run.steps]
    assert all(s.offset is not None and s.offset >= moved.arena for s in inner if s.index != y)
    assert moved.arena < plan.arena


def test_what_a_group_reads_lives_until_it_is_done() -> None:
    m = Maker(64, 256)
    x = m.step("exp", m.step("matmul", m.given(64, 8), m.given(8, 256)))
    y = m.step("sub", x, m.sum(x))
    m.step("matmul", y, m.given(256, 4), shape=(64, 4))
    z = m.step("mul", y, m.sum(y))
    plan = m.plan(m.step("matmul", z, m.given(256, 5), shape=(64, 5)))
    moved, runs = arranged(plan, LIMITS, alignment=64, page=1 << 20)
    for run in runs:
        work = work_of(moved, run.steps, Uses.of(moved))
        for read in (moved.slots[o.slot] for o in work.operands):
            for write in (moved.slots[slot] for slot, _ in work.writes):
                if read.offset is not None and write.offset is not None:
                    apart = read.offset + read.nbytes <= write.offset
                    assert apart or write.offset + write.nbytes <= read.offset


def test_failing_steps_stay_in_their_order() -> None:
    from vkml_core.ops.reduce import Axis

    m = Maker(6, 8)
    x, at, far = m.given(6, 8), m.given(6, 1, dtype=int64), m.given(5, 1, dtype=int64)
    table = m.given(5, 9)
    d = m.step("sub", x, m.sum(x))
    other = m.step("gather", table, far, attrs=Axis(1), shape=(5, 1))
    picked = m.step("gather", d, at, attrs=Axis(1), shape=(6, 1))
    plan = m.plan(picked, other)
    moved, runs = arranged(plan, LIMITS, alignment=64, page=1 << 20)
    assert [len(run.steps) for run in runs] == [3]
    places = {step.write: i for i, step in enumerate(moved.steps)}
    assert places[other] < places[picked]


def test_a_kernel_has_limits() -> None:
    m = Maker(6, 8)
    y = m.given(6, 8)
    for _ in range(40):
        y = m.step("exp", m.step("sub", y, m.sum(y)))
    plan = m.plan(y)
    for group in groups(plan, LIMITS):
        work = work_of(plan, group.steps, Uses.of(plan))
        assert rows.takes(work, group.form, plan.slots, LIMITS)
        assert sum(c.op in LONG for c in work.calls) <= rows.MOST_LONG
        assert not rows.takes(work, group.form, plan.slots, Limits(1, 0, (1, 1, 1)))

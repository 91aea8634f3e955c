"""Plans of one call over strided views, run on the oracle and on a Vulkan device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, Final, cast

import numpy as np

from tests.oracle.cases import Case
from tests.oracle.run import assert_same_bits, canonical
from tests.oracle.values import Array
from tests.vulkan.level import compared, flushes, tamed
from vkml_backend_cpu.backend import backend as oracle
from vkml_backend_vulkan.lower.tiles import SHAPES, Tile
from vkml_core.backend import Device
from vkml_core.dtypes import to_dtype
from vkml_core.graph import Node
from vkml_core.ops.spec import REGISTRY
from vkml_core.plan import Call, Operand, Plan, Slot, SlotKind, Step
from vkml_core.shapes import View

OTHER_TILES: Final = (
    Tile(32, 32, 4, 32),
    Tile(32, 32, 1, 32),
    Tile(64, 32, 2),
    Tile(16, 16, 1, 64),
)
"""Tiles that no table has, with other rows and steps at a time."""
_MADE: Final = {t for s in SHAPES for t in (s, s.with_half_the_rows())}
TILES: Final = sorted({*OTHER_TILES, *(t for t in _MADE if t.invocations <= 256)}, key=repr)
"""These, and all that a table has or a rule makes of it, in workgroups that every device has."""


@dataclass(frozen=True)
class Source:
    """The memory of an operand, and how the call sees it."""

    memory: Array
    view: View

    def seen(self) -> Array:
        """The operand as the call sees it."""
        item = self.memory.itemsize
        if not self.memory.size:
            return np.empty(self.view.shape, self.memory.dtype)
        strides = tuple(s * item for s in self.view.strides)
        flat = np.ascontiguousarray(self.memory)
        return np.ndarray(self.view.shape, flat.dtype, flat.data, self.view.offset * item, strides)

    @staticmethod
    def plain(x: Array) -> Source:
        return Source(x, View.of(x.shape))

    @staticmethod
    def strange(x: Array) -> Source:
        """The same values with the axes reversed in memory, every second element, backwards."""
        memory = np.full(3 + 2 * x.size, 77, x.dtype)
        shape = x.shape[::-1]
        steps = View.of(shape).strides[::-1]
        view = View(x.shape, tuple(-2 * s for s in steps), 2 * x.size)
        memory[2 : 2 + 2 * x.size : 2] = x.transpose().reshape(-1)[::-1]
        return Source(memory, view)


def plan_of(op: str, attrs: Any, sources: Sequence[Source]) -> Plan:
    typed = [
        cast(Node, SimpleNamespace(shape=s.view.shape, dtype=to_dtype(s.memory.dtype)))
        for s in sources
    ]
    shape, dtype = REGISTRY[op].infer(typed, attrs)
    inputs = [
        Slot(i, SlotKind.INPUT, s.memory.shape, to_dtype(s.memory.dtype))
        for i, s in enumerate(sources)
    ]
    out = len(inputs)
    operands = tuple(Operand(i, s.view) for i, s in enumerate(sources))
    call = Call(op, attrs, tuple(range(out)), shape, dtype)
    return Plan(
        slots=(*inputs, Slot(out, SlotKind.OUTPUT, shape, dtype)),
        steps=(Step((call,), operands, out),),
        inputs=tuple(range(out)),
        scalars=(),
        outputs=(out,),
    )


def result(device: Device, plan: Plan, sources: Sequence[Source]) -> Array:
    buffers = [device.upload(canonical(s.memory)) for s in sources]
    (out,) = device.compile(plan).run(buffers, ())
    slot = plan.slots[plan.outputs[0]]
    return device.download(out, slot.shape, slot.dtype)


def judge(device: Device, op: str, attrs: Any, *operands: Array | Source) -> Array:
    """Run one call on both; give the result, which has the oracle's bits (see `level`)."""
    sources = [s if isinstance(s, Source) else Source.plain(s) for s in operands]
    if flushes(device):
        sources = [replace(s, memory=tamed(op, s.memory)) for s in sources]
    plan = plan_of(op, attrs, sources)
    got, want = result(device, plan, sources), result(oracle.open(0), plan, sources)
    if flushes(device):
        assert got.shape == want.shape
        held = compared(op, [s.seen() for s in sources], want)
        assert_same_bits(got[held], want[held])
    else:
        assert_same_bits(got, want)
    return got


def judge_case(device: Device, case: Case) -> None:
    """Run a case in both layouts, and with its float32 arrays as float16."""
    with np.errstate(all="ignore"):
        halves = [a.astype(np.float16) if a.dtype == np.float32 else a for a in case.arrays]
    for lay in (Source.plain, Source.strange):
        judge(device, case.op, case.attrs, *map(lay, case.arrays))
        if any(a.dtype == np.float16 for a in halves):
            judge(device, case.op, case.attrs, *map(lay, halves))

"""Where pointers lead, without a device."""

from __future__ import annotations

import needs_vulkan  # noqa: F401

from vkml_backend_vulkan import layout
from vkml_backend_vulkan.dispatch import ERRORS, Dispatch, Lowered, Pointer
from vkml_core.dtypes import float32
from vkml_core.plan import Plan, Slot, SlotKind, Step

_STEP = Step((), (), 0)


def _dispatch(groups: int = 1, slot: int = 0) -> Dispatch:
    return Dispatch("m", (groups, 1, 1), (Pointer(slot, 0),), b"")


def _plan(steps: int, *, slots: tuple[Slot, ...] = (), arena: int = 0) -> Plan:
    inputs = tuple(s.index for s in slots if s.kind in (SlotKind.INPUT, SlotKind.STATE))
    scalars = tuple(s.index for s in slots if s.kind is SlotKind.SCALAR)
    return Plan(slots, (_STEP,) * steps, inputs, scalars, (), (), arena)


def test_pointers_lead_to_disjoint_memory() -> None:
    slots = (
        Slot(0, SlotKind.INPUT, (4,), float32),
        Slot(1, SlotKind.SCALAR, (), float32),
        Slot(2, SlotKind.TEMP, (4,), float32, offset=64),
        Slot(3, SlotKind.OUTPUT, (4,), float32),
        Slot(4, SlotKind.SCALAR, (), float32),
        Slot(5, SlotKind.STATE, (4,), float32),
    )
    fails = Lowered((_dispatch(slot=ERRORS),))
    scratch = Lowered((_dispatch(slot=~1),), scratch=(10, 100))
    made = layout.Layout(_plan(3, slots=slots, arena=128), [fails, scratch, fails], 4096)
    place = made.place
    assert [place(0, Pointer(s, 4)) for s in (0, 5, 3)] == [(2, 4), (3, 4), (4, 4)]
    assert [place(0, Pointer(s, 0)) for s in (1, 4)] == [(1, 128), (1, 128 + 16)]
    assert place(0, Pointer(2, 8)) == (1, 64 + 8)
    assert [place(1, Pointer(~k, 4)) for k in (0, 1)] == [(1, 128 + 64 + 4), (1, 128 + 128 + 4)]
    assert [place(i, Pointer(ERRORS, 0)) for i in (0, 2)] == [(0, 0), (0, 32)]
    assert made.pages == (128 + 64 + 64 + 128,) and len(made.failing) == 2


def test_nothing_crosses_a_page() -> None:
    slots = (
        Slot(0, SlotKind.SCALAR, (), float32),
        Slot(1, SlotKind.TEMP, (32,), float32, offset=0),
        Slot(2, SlotKind.TEMP, (32,), float32, offset=192),
        Slot(3, SlotKind.OUTPUT, (4,), float32),
    )
    scratch = Lowered((_dispatch(),), scratch=(64, 128, 128))
    made = layout.Layout(_plan(1, slots=slots, arena=320), [scratch], 200)
    found = [made.place(0, Pointer(s, 0)) for s in (1, 2, 0, ~0, ~1, ~2, 3)]
    assert found == [(1, 0), (2, 0), (2, 128), (3, 0), (3, 64), (4, 0), (5, 0)]
    assert made.pages == (192, 192, 192, 128)


def test_without_anything_there_are_no_pages() -> None:
    assert layout.Layout(_plan(1), [Lowered((_dispatch(),))], 4096).pages == ()

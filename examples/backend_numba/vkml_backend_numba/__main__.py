"""Compiles the kernels ahead of their first use: `python -m vkml_backend_numba`."""

from __future__ import annotations

import time

import numpy as np
from vkml_core.dtypes import float32
from vkml_core.plan import Call, Operand, Plan, Slot, SlotKind, Step
from vkml_core.shapes import View

from vkml_backend_numba.backend import backend
from vkml_backend_numba.compiling import folder


def main() -> None:
    """Run a plan of one addition, which needs the whole machine, and say where it is kept."""
    start = time.perf_counter()
    device = backend.open(0)
    slots = (
        Slot(0, SlotKind.INPUT, (1,), float32),
        Slot(1, SlotKind.OUTPUT, (1,), float32),
    )
    call = Call("add", None, (0, 0), (1,), float32)
    plan = Plan(slots, (Step((call,), (Operand(0, View.of((1,))),), 1),), (0,), (), (1,))
    device.compile(plan).run([device.upload(np.ones(1, np.float32))], [])
    print(f"ready after {time.perf_counter() - start:.1f} s; kernels are kept in {folder()}")


if __name__ == "__main__":
    main()

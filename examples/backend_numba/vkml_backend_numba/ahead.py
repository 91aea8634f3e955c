"""Compiles all functions ahead of their first use, side by side in processes."""

from __future__ import annotations

import os
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from vkml_core.dtypes import float32
from vkml_core.plan import Call, Operand, Plan, Slot, SlotKind, Step
from vkml_core.shapes import View

from vkml_backend_numba.backend import backend
from vkml_backend_numba.kept import folder
from vkml_backend_numba.kernels.library import FUNCTIONS, prepare


def _one(number: int) -> None:
    prepare([number])


def _run() -> None:
    """Run a plan of one addition, which needs the machine itself."""
    device = backend.open(0)
    slots = (
        Slot(0, SlotKind.INPUT, (1,), float32),
        Slot(1, SlotKind.OUTPUT, (1,), float32),
    )
    call = Call("add", None, (0, 0), (1,), float32)
    plan = Plan(slots, (Step((call,), (Operand(0, View.of((1,))),), 1),), (0,), (), (1,))
    device.compile(plan).run([device.upload(np.ones(1, np.float32))], [])


def compile_all() -> None:
    """Compile what is not kept yet, and say where it is kept."""
    start = time.perf_counter()
    processes = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    with ProcessPoolExecutor(processes, get_context("spawn")) as pool:
        machine = pool.submit(_run)
        list(pool.map(_one, range(len(FUNCTIONS))))
        machine.result()
    print(f"ready after {time.perf_counter() - start:.1f} s; functions are kept in {folder()}")

"""The device: host memory and counters as the core has them, plans as compiled programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numba
from vkml_backend_cpu.convert import canonical_nan, to_float16, to_float32
from vkml_backend_cpu.table import TABLE
from vkml_core.backend import Capabilities
from vkml_core.errors import OutOfMemoryError
from vkml_core.plan import Plan
from vkml_core.stepwise import Conversions, StepwiseDevice

from vkml_backend_numba.compiling import config
from vkml_backend_numba.executable import NumbaExecutable
from vkml_backend_numba.kernels.tile import COLS, ROWS
from vkml_backend_numba.workspace import ALIGNMENT, Workspace

NAME: Final = "numba"


class NumbaDevice(StepwiseDevice):
    """The CPU. What has no kernel here is done by the oracle's function of the same row."""

    memory_errors = OutOfMemoryError

    def __init__(self, name: str) -> None:
        conversions = Conversions(widen=to_float32, narrow=to_float16, canonical=canonical_nan)
        super().__init__(name, "cpu", TABLE, backend=NAME, conversions=conversions)
        self.workspace = Workspace()
        numba.set_num_threads(min(self.workspace.threads, config.NUMBA_NUM_THREADS))

    def capabilities(self) -> Capabilities:
        """Tell what it can do: every row, many calls in a step."""
        return Capabilities(
            ops=frozenset(self.table), fusion=True, profiling=True, alignment=ALIGNMENT
        )

    def compile(self, plan: Plan) -> NumbaExecutable:  # type: ignore[override]
        """Write a plan's program."""
        return NumbaExecutable(self, plan)

    def stats(self) -> Mapping[str, float]:
        """Count as every backend does; what programs share is reserved, not in use."""
        counted, space = dict(super().stats()), self.workspace
        shared = space.arena.nbytes + space.own.nbytes + space.scratch.nbytes
        counted["reserved_bytes"] = counted["in_use_bytes"] + shared
        return counted

    def report(self) -> Mapping[str, str]:
        """Describe the compiler, the threads and the tile of the products."""
        return {
            "executor": f"programs compiled by Numba {numba.__version__}",
            "level": "exact",
            "operations": str(len(self.table)),
            "threads": str(self.workspace.threads),
            "tile": f"{ROWS} x {COLS}",
        }

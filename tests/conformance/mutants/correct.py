"""Backends that are right, and that no alarm may be raised about."""

from __future__ import annotations

import time
from typing import Any, Final

from mutants.base import Altered
from vkml_backend_cpu.table import TABLE
from vkml_core.host_memory import HostBuffer
from vkml_core.stepwise import StepwiseExecutable

PAUSE: Final = 0.002
"""Seconds before each step."""


class Slow(StepwiseExecutable):
    """Waits before every step, as a device behind a slow bus does."""

    def _step(self, step: Any, arrays: Any) -> HostBuffer:
        time.sleep(PAUSE)
        return super()._step(step, arrays)


slow = Altered("slow", execute=Slow)
third = Altered("third", lacks=frozenset(TABLE) - set(sorted(TABLE)[::3]))

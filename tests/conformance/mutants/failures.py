"""What is left behind when a run fails half way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mutants.base import Altered
from vkml_core.dtypes import Scalar
from vkml_core.errors import IndexError_
from vkml_core.host_memory import HostBuffer
from vkml_core.stepwise import StepwiseExecutable


class WritesEarly(StepwiseExecutable):
    """STATE buffers are written by the step that makes their value, and not when all is done."""

    def run(self, inputs: Sequence[HostBuffer], scalars: Sequence[Scalar]) -> list[HostBuffer]:
        self._given = dict(zip(self._plan.inputs, inputs, strict=True))
        return super().run(inputs, scalars)

    def _step(self, step: Any, arrays: Any) -> HostBuffer:
        made = super()._step(step, arrays)
        if step.write in self._given:
            self._given[step.write].array = made.array
        return made


class KeepsFlag(StepwiseExecutable):
    """The word in which a kernel reports an index out of range is not cleared before a run."""

    _flag: IndexError_ | None = None

    def run(self, inputs: Sequence[HostBuffer], scalars: Sequence[Scalar]) -> list[HostBuffer]:
        try:
            results = super().run(inputs, scalars)
        except IndexError_ as error:
            self._flag = error
        if self._flag is not None:
            raise self._flag
        return results


state = Altered("state", execute=WritesEarly)
flag = Altered("flag", execute=KeepsFlag)

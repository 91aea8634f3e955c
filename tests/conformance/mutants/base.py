"""The oracle under another name, but for some rows, or for the way in which plans are run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vkml_backend_cpu.backend import backend as oracle
from vkml_backend_cpu.table import TABLE
from vkml_core.backend import Available, Capabilities, DeviceInfo, Level
from vkml_core.plan import Plan
from vkml_core.stepwise import Conversions, Kernel, StepwiseDevice, StepwiseExecutable

CONVERSIONS = oracle.conversions
assert CONVERSIONS is not None
Execute = Callable[[StepwiseDevice, Plan], StepwiseExecutable]


@dataclass(frozen=True)
class Altered:
    """A backend with one device, which is the oracle but for what is given here."""

    NAME: str
    rows: Mapping[str, Kernel] = field(default_factory=dict)
    """Kernels in place of the oracle's."""
    execute: Execute = StepwiseExecutable
    conversions: Conversions = CONVERSIONS
    level: Level = "exact"
    fusion: bool = False
    lacks: frozenset[str] = frozenset()
    """Rows that it does not have."""
    API_VERSION: tuple[int, int] = (1, 0)

    @property
    def table(self) -> dict[str, Kernel]:
        """All its rows."""
        return {op: f for op, f in (TABLE | dict(self.rows)).items() if op not in self.lacks}

    def probe(self) -> Available:
        """Say that it can be opened."""
        return Available()

    def devices(self) -> list[DeviceInfo]:
        """List the one device."""
        return [DeviceInfo(0, self.NAME, "cpu")]

    def open(self, index: int) -> StepwiseDevice:
        """Open the one device."""
        return _Device(self)


class _Device(StepwiseDevice):
    def __init__(self, backend: Altered) -> None:
        super().__init__(
            backend.NAME,
            "cpu",
            backend.table,
            backend=backend.NAME,
            level=backend.level,
            conversions=backend.conversions,
        )
        self._altered = backend

    def capabilities(self) -> Capabilities:
        return super().capabilities().model_copy(update={"fusion": self._altered.fusion})

    def compile(self, plan: Plan) -> StepwiseExecutable:
        super().compile(plan)  # refuses what the table lacks
        return self._altered.execute(self, plan)


def floats_only(op: str, kernel: Kernel) -> Kernel:
    """Use a kernel for floats and the oracle's for everything else."""

    def chosen(attrs: Any, *arrays: Any) -> Any:
        return (kernel if arrays[0].dtype.kind == "f" else TABLE[op])(attrs, *arrays)

    return chosen

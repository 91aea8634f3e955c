"""What a check is and what comes of it: the currency of cases, workers and reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

from vkml import Tensor
from vkml_conformance.values import Array

Part = Literal[
    "forward",
    "gradient",
    "second",
    "sweep",
    "batch",
    "layout",
    "seed",
    "graph",
    "training",
    "state",
]
Run = Literal["first", "eager", "replay", "often"]
"""How a graph is run: as one plan, an operation at a time, through the same plan once more, and as
often as it takes for a backend to see that it goes on."""
ALL_RUNS: Final[tuple[Run, ...]] = ("first", "eager", "replay")
Status = Literal["equal", "differs", "error", "unsupported", "left out"]


@dataclass(frozen=True)
class Difference:
    """Where one result is not the oracle's: the first element that differs and both its bits."""

    what: str
    """Which result: `forward`, `gradient of operand 1`, `output 3`."""
    run: Run
    wrong: int
    of: int
    index: tuple[int, ...]
    got: str
    """Bits in hex; where shape or dtype is wrong, those."""
    want: str
    got_value: str = ""
    want_value: str = ""
    ulps: int | None = None
    """Distance in units of the last place; None where a side is NaN or not a float."""
    cause: str = ""
    """A guess, where the pattern is known."""

    def __str__(self) -> str:
        values = f" ({self.got_value})", f" ({self.want_value})"
        told = f"{self.what}, {self.run} run: {self.wrong:,} of {self.of:,} differ, first at "
        told += f"{self.index}: got {self.got}{values[0]}, want {self.want}{values[1]}"
        if self.ulps is not None:
            told += f", {self.ulps:,} ulp"
        return f"{told}; {self.cause}" if self.cause else told


@dataclass(frozen=True)
class Outcome:
    """What came of a check."""

    status: Status
    elements: int = 0
    """Elements compared, of one run."""
    difference: Difference | None = None
    message: str = ""
    """What was raised, or which operations are missing."""
    digest: str = ""
    """SHA-256 of the wanted results, 32 hex digits; empty where there are none."""


class Subject(Protocol):
    """Something to compute on a device and to compare: arrays in, arrays out."""

    @property
    def results(self) -> Sequence[str]:
        """What each result is called in a difference."""

    def leaves(self) -> Sequence[Array]:
        """Give the arrays that are uploaded."""

    def record(self, leaves: Sequence[Tensor]) -> Sequence[Tensor]:
        """Record the results of uploaded leaves, on their device, without computing them."""

    def wanted(self) -> Sequence[Array]:
        """Give the results that are right: the oracle's."""

    def held(self, wanted: Sequence[Array]) -> Sequence[Array] | None:
        """Mark the elements that level exact-normal promises; None where it promises nothing."""


@dataclass(frozen=True)
class Check:
    """One thing to prove of a device. `id` tells it from all others and reproduces it."""

    id: str
    family: str
    """The kind of the row, or `invariance`, `graph`, `training`."""
    op: str
    dtype: str
    part: Part
    subject: Subject
    about: Mapping[str, str] = field(default_factory=dict)
    """What a report tells of it: attributes, shapes, layouts, values, seed."""
    runs: tuple[Run, ...] = ALL_RUNS
    """How it is run. Row cases of one shape are replays of one plan, with other values each."""

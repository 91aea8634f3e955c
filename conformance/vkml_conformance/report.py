"""Counts outcomes by family and dtype, and prints them as one plain table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from vkml_conformance.compare import Difference, Outcome, Part
from vkml_core.dtypes import DTYPES
from vkml_core.ops.spec import Kind

_ORDER: Final = [(kind.value, dtype.name) for kind in Kind for dtype in DTYPES]
HEADER: Final = ("family", "dtype", "part", "cases", "equal", "differing", "left out", "elements")


@dataclass
class Count:
    """Cases of one line of the table; `left_out` are those that the device's level excludes."""

    cases: int = 0
    differing: int = 0
    left_out: int = 0
    elements: int = 0

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        self.cases += 1
        self.differing += outcome.difference is not None
        self.left_out += not outcome.held
        self.elements += outcome.elements

    def cells(self) -> tuple[str, ...]:
        """Give the numbers of the line."""
        equal = self.cases - self.differing - self.left_out
        numbers = (self.cases, equal, self.differing, self.left_out, self.elements)
        return tuple(f"{n:,}" for n in numbers)


@dataclass
class Tally:
    """All outcomes so far, and the first differences of each row."""

    shown: int = 2
    """How many differences of a row and part are kept to be printed."""
    lines: dict[tuple[str, str, Part], Count] = field(default_factory=dict)
    differences: dict[tuple[str, str, Part], list[Difference]] = field(default_factory=dict)

    def add(self, outcome: Outcome) -> None:
        """Count one outcome."""
        spec, dtype = outcome.case.spec, outcome.case.dtype.name
        self.lines.setdefault((spec.kind.value, dtype, outcome.part), Count()).add(outcome)
        if outcome.difference is not None:
            found = self.differences.setdefault((spec.name, dtype, outcome.part), [])
            found.append(outcome.difference)

    @property
    def differing(self) -> int:
        """Count the cases that differ."""
        return sum(map(len, self.differences.values()))

    def table(self) -> str:
        """Give the table, a line for each family, dtype and part, and their sum."""
        total = Count()
        rows: list[tuple[str, ...]] = [HEADER]
        for key in sorted(self.lines, key=lambda key: (_ORDER.index(key[:2]), key[2])):
            count = self.lines[key]
            rows.append((*key, *count.cells()))
            total.cases += count.cases
            total.differing += count.differing
            total.left_out += count.left_out
            total.elements += count.elements
        return aligned([*rows, ("all", "", "", *total.cells())])

    def first_differences(self) -> Iterator[str]:
        """Give the first differences of each row: shapes, place, both bit patterns."""
        for found in self.differences.values():
            yield from map(str, found[: self.shown])


def aligned(rows: Iterable[tuple[str, ...]], words: int = 3) -> str:
    """Lay out cells in columns: the first `words` to the left, numbers to the right."""
    kept = list(rows)
    widths = [max(map(len, column)) for column in zip(*kept, strict=True)]
    lines = []
    for row in kept:
        cells = [
            cell.ljust(width) if i < words else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)

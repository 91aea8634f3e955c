"""Lays out how many checks of a family are equal, by device, in tables. Needs rich."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from vkml_conformance.account import STATES, Counts, State
from vkml_conformance.ink import STYLES, mark, styled
from vkml_conformance.schema import DeviceReport, Line

Column = list[Text]
"""A head, a cell for each family, and one for all."""
GAP: Final = 2
"""Spaces behind a column."""


def tables(devices: Sequence[DeviceReport], console: Console) -> Iterator[Table]:
    """Give tables of families × devices, each with as many devices as the width holds."""
    ran = [device for device in devices if device.lines]
    families = list(dict.fromkeys(line.family for device in ran for line in device.lines))
    first = [styled(console, name) for name in ("family", *families, "all")]
    kept, left = [first], 0
    for device in ran:
        columns = _columns(device, families, console)
        width = sum(map(_width, columns))
        if len(kept) > 1 and width > left:
            yield _table(kept)
            kept = [first]
        if len(kept) == 1:
            left = console.width - _width(first)
        kept += columns
        left -= width
    if len(kept) > 1:
        yield _table(kept)


def legend(devices: Sequence[DeviceReport], console: Console) -> Text | None:
    """Explain the signs that are in the tables; None where there are no tables."""
    states: set[State] = set()
    for device in devices:
        for counts in (*map(Counts.of, _rows(device).values()), Counts.of(device.lines)):
            states |= {counts.state, *counts.apart()} if counts.cases else set()
    parts = [styled(console, mark(s, console), f" {s}") for s in STATES if s in states]
    return styled(console, "equal/all: ", Text("  ").join(parts)) if parts else None


def _rows(device: DeviceReport) -> dict[str, list[Line]]:
    rows: dict[str, list[Line]] = {}
    for line in device.lines:
        rows.setdefault(line.family, []).append(line)
    return rows


def _columns(device: DeviceReport, families: Iterable[str], console: Console) -> list[Column]:
    """Give the counts of a device, and beside them what was not compared, where there is such."""
    rows = _rows(device)
    counts = [Counts.of(rows.get(family, ())) for family in families]
    counts.append(Counts.of(device.lines))
    columns = [[styled(console, device.device), *(_equal(each, console) for each in counts)]]
    if counts[-1].apart():
        columns.append([Text(), *(_apart(each, console) for each in counts)])
    return columns


def _equal(counts: Counts, console: Console) -> Text:
    """Give how many are equal, of all."""
    if not counts.cases:
        return Text()
    told = f" {counts.equal:,}/{counts.cases:,}", STYLES[counts.state]
    return styled(console, mark(counts.state, console), told)


def _apart(counts: Counts, console: Console) -> Text:
    """Give how many were not compared, and why."""
    parts = [
        styled(console, mark(state, console), (f" {n:,}", STYLES[state]))
        for state, n in counts.apart().items()
    ]
    return Text(" ").join(parts)


def _width(column: Column) -> int:
    return max(cell.cell_len for cell in column) + GAP


def _table(columns: Sequence[Column]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for i, (head, *_) in enumerate(columns):
        right = i > 0 and bool(head)
        table.add_column(head, justify="right" if right else "left", overflow="fold")
    rows = list(zip(*(cells for _, *cells in columns), strict=True))
    for i, row in enumerate(rows):
        table.add_row(*row, style="bold" if i == len(rows) - 1 else None)
    return table

"""A report as tables of text, and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from vkml.attribution.account import CATEGORIES
from vkml.attribution.bounds import of_ceilings
from vkml.attribution.rows import KernelRow

if TYPE_CHECKING:
    from vkml.attribution.report import Report

SCHEMA: Final = 1
_NAME: Final = 44
_LEFT: Final = 2
"""Columns that are text come first."""


def table(report: Report, limit: int) -> str:
    """Give the categories, then the longest kernels."""
    rows = report.kernels[: max(limit, 0)]
    lines = [
        *_aligned(("wall time", "", "ms", "share"), _categories(report)),
        "",
        *_aligned(
            ("kernel", "for", "dispatches", "ms", "share", "GB/s", "of copy", "GFLOP/s", "of peak"),
            [_kernel(report, row) for row in rows],
        ),
    ]
    if left := report.kernels[len(rows) :]:
        busy = sum(row.busy for row in left)
        lines.append(f"and {len(left)} more, {_ms(busy)} ms, {_share(busy, report.busy)}")
    return "\n".join(lines)


def _categories(report: Report) -> list[tuple[str, ...]]:
    found = report.categories
    rows = [(name, "", _ms(found[name]), _share(found[name], report.wall)) for name in CATEGORIES]
    return [*rows, ("sum", "", _ms(report.wall), _share(report.wall, report.wall))]


def _kernel(report: Report, row: KernelRow) -> tuple[str, ...]:
    reach = of_ceilings(row, report.ceilings.get(row.device))
    return (
        shortened(row.kernel),
        row.name,
        str(row.dispatches),
        _ms(row.busy),
        _share(row.busy, report.busy),
        f"{row.bandwidth / 1e9:.2f}",
        f"{reach.bandwidth:.0%}" if reach else "",
        f"{row.rate / 1e9:.2f}",
        f"{reach.rate:.0%}" if reach else "",
    )


def _aligned(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Lay out columns; the first ones to the left, numbers to the right."""
    lines = [head, *rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    return ["  ".join(_cells(line, widths)).rstrip() for line in lines]


def _cells(line: Sequence[str], widths: Sequence[int]) -> Iterable[str]:
    for i, (cell, width) in enumerate(zip(line, widths, strict=True)):
        if width:
            yield cell.ljust(width) if i < _LEFT else cell.rjust(width)


def shortened(kernel: str) -> str:
    """Give the name of a kernel, cut where it is long: a fused one's tells all that it does."""
    return kernel if len(kernel) <= _NAME else kernel[: _NAME - 1] + "…"


def counted(number: int, what: str) -> str:
    """Give a number with what it counts.

    >>> counted(1, "dispatch"), counted(2, "dispatch"), counted(0, "round")
    ('1 dispatch', '2 dispatches', '0 rounds')
    """
    plural = "es" if what.endswith("ch") else "s"
    return f"{number} {what}{'' if number == 1 else plural}"


def _ms(nanoseconds: int) -> str:
    return f"{nanoseconds / 1e6:.3f}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}" if whole else ""


def as_json(report: Report) -> dict[str, Any]:
    """Give a report as numbers, strings, lists and dicts; times are in nanoseconds."""
    return {
        "schema": SCHEMA,
        "wall_ns": report.wall,
        "categories_ns": report.categories,
        "kernels_busy_ns": report.busy,
        "kernels_hidden_ns": report.account.hidden,
        "attributed": report.attributed,
        "rounds_ns": [r.wall for r in report.rounds],
        "best_round": report.best,
        "steps_a_round": report.steps,
        "control_ns": list(report.control),
        "noise_ns": report.noise,
        "profiling_cost_ns": report.cost,
        "submissions": report.submissions,
        "dispatches": report.dispatches,
        "devices": dict(report.devices),
        "ceilings": {name: dataclasses.asdict(c) for name, c in report.ceilings.items()},
        "kernels": [_row_json(report, row) for row in report.kernels],
        "notes": list(report.notes),
    }


def _row_json(report: Report, row: KernelRow) -> dict[str, Any]:
    found = dataclasses.asdict(row)
    found |= {"ops": list(row.ops), "shapes": [list(s) for s in row.shapes]}
    if row.decision is not None:
        found["decision"] |= {"instead": list(row.decision.instead)}
        found["decision"] |= {
            name: dict(getattr(row.decision, name)) for name in ("required", "available")
        }
    rates = {"bytes_per_second": row.bandwidth, "flops_per_second": row.rate}
    return found | rates | {"share": row.busy / report.busy if report.busy else 0.0}

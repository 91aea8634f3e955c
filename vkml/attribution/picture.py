"""A report as a picture: a bar for each category, and for each of the longest kernels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vkml.attribution.account import CATEGORIES

if TYPE_CHECKING:
    from vkml.attribution.report import Report

_KERNELS: Final = 12
_NAME: Final = 48
"""Characters of a kernel's name that are shown."""


def draw(report: Report, path: Path) -> None:
    """Write a PNG. Raises ImportError naming the extra, OSError."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            "attribution: png() needs matplotlib: pip install 'vkml[examples]'"
        ) from error
    figure = Figure(figsize=(10, 7), layout="constrained")
    categories, kernels = figure.subplots(2, 1, height_ratios=(1, 1.3))
    spent = [(name, report.categories[name]) for name in CATEGORIES]
    _bars(categories, spent, f"wall time {report.wall / 1e6:.3f} ms")
    rows = [(f"{r.name}, {r.kernel}"[:_NAME], r.busy) for r in report.kernels[:_KERNELS]]
    _bars(kernels, rows, f"kernels {report.busy / 1e6:.3f} ms")
    figure.savefig(path, format="png", dpi=120)


def _bars(axes: Any, values: list[tuple[str, int]], title: str) -> None:
    """Draw one bar a value, the first one on top."""
    places = range(len(values))
    axes.barh(places, [ns / 1e6 for _, ns in values], color="#4477aa")
    axes.set_yticks(places, [name for name, _ in values], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlabel("ms")
    axes.set_title(title)

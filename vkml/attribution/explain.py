"""A report as sentences: what dominates, which kernels, what bounds them, what to try."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from vkml.attribution.account import IDLE, KERNELS, UNATTRIBUTED
from vkml.attribution.bounds import bound
from vkml.attribution.rows import KernelRow
from vkml.attribution.tables import counted, shortened

if TYPE_CHECKING:
    from vkml.attribution.report import Report

_TOLD: Final = 3
"""Kernels that are explained."""
_SIGNIFICANT: Final = 0.1
"""The part of the wall time from which a category gets advice."""
_ADVICE: Final = {
    "Python": "the program's own Python, outside of vkml's phases: loading data, printing, loops",
    "record": "making the graph in Python, operation by operation: vkml.compile(step) does it "
    "once, instead of in each step",
    "plan": "finding or making plans: where shapes or the structure of a step change from step to "
    "step, each kind needs a plan of its own; keep them the same",
    "submit": "handing work to the device: fewer and larger submissions cost less, and values that "
    "are read in the middle of a step cut it in two",
    "wait": "waiting for the device to begin, or to tell that it has finished: read values less "
    "often, so that the next step is prepared meanwhile",
    "read": "copying values between host and device: read less, and keep data on the device",
    KERNELS: "kernels that the host waits for: what bounds the longest is told below",
    IDLE: "the device idle between kernels, while the host waits: barriers, and dispatches too "
    "small to fill the device; larger batches or fusion close these gaps",
    UNATTRIBUTED: "profiling itself, and what nobody claims",
}


def text(report: Report) -> str:
    """Explain a report."""
    parts = [_summary(report), _spread(report), _categories(report), *_kernels(report)]
    return "\n\n".join(part for part in (*parts, *report.notes) if part)


def _summary(report: Report) -> str:
    """Say how long the best round took and what it consists of."""
    where = ", ".join(f"{name} ({what})" for name, what in report.devices.items()) or "no device"
    steps = f" of {report.steps} steps" if report.steps > 1 else ""
    each = f", {report.wall / report.steps / 1e6:.3f} ms a step" if report.steps > 1 else ""
    submitted = counted(report.submissions, "submission")
    return (
        f"The best of {counted(len(report.rounds), 'round')}{steps} took "
        f"{report.wall / 1e6:.3f} ms{each} on {where}: {submitted}, "
        f"{counted(report.dispatches, 'dispatch')}. "
        f"{report.attributed:.1%} of it has a category; {_unattributed(report)}."
    )


def _unattributed(report: Report) -> str:
    left = report.categories[UNATTRIBUTED] / 1e6
    return f"{left:.3f} ms are unattributed: {_ADVICE[UNATTRIBUTED]}"


def _spread(report: Report) -> str:
    """Say how much the rounds differ although the program is the same, and what profiling costs."""
    if report.noise is None:
        return "One round says nothing about noise: capture several."
    said = (
        f"The median round took {report.median / 1e6:.3f} ms. The same program against itself, "
        f"every other round, differs by {report.noise / 1e6:.3f} ms: less than that means nothing."
    )
    return said + _cost(report)


def _cost(report: Report) -> str:
    """Say what profiling adds, where that is known."""
    cost = report.cost
    if cost is None or report.noise is None:
        return ""
    adds = "nothing that shows" if cost <= report.noise else f"{cost / 1e6:.3f} ms"
    return (
        f" Without profiling the best round took {min(report.control) / 1e6:.3f} ms: profiling "
        f"adds {adds}."
    )


def _categories(report: Report) -> str:
    """Name the categories that matter, the largest first, each with what to do about it."""
    largest = sorted(report.categories.items(), key=lambda item: -item[1])
    lines = [
        f"* {name}, {ns / report.wall:.0%} ({ns / 1e6:.3f} ms): {_ADVICE[name]}."
        for name, ns in largest
        if report.wall and ns >= _SIGNIFICANT * report.wall
    ]
    hidden = report.account.hidden
    if report.busy:
        lines.append(
            f"* Kernels ran for {report.busy / 1e6:.3f} ms, {report.busy / report.wall:.0%} of the "
            f"wall time; {hidden / 1e6:.3f} ms of that while the host worked, where they cost "
            "nothing."
        )
    return "\n".join(["Where the time went:", *lines])


def _kernels(report: Report) -> Iterator[str]:
    """Explain the longest kernels."""
    for row in report.kernels[:_TOLD]:
        if row.busy:
            yield _kernel(report, row)


def _kernel(report: Report, row: KernelRow) -> str:
    ceilings = report.ceilings.get(row.device)
    fused = f" ({len(row.ops)} operations fused)" if len(row.ops) > 1 else ""
    said = (
        f"{row.name}{fused}: {row.busy / 1e6:.3f} ms, {row.busy / report.busy:.0%} of the kernels' "
        f"time, in {counted(row.dispatches, 'dispatch')} of {shortened(row.kernel)} on "
        f"{row.device}; "
        f"{row.bandwidth / 1e9:.2f} GB/s, {row.rate / 1e9:.2f} GFLOP/s. "
        f"What bounds it: {bound(row, ceilings)}."
    )
    if row.decision is not None:
        instead = ", ".join(row.decision.instead) or "nothing else"
        said += f" Chosen: {row.decision.chose}, not {instead}, since {row.decision.because}."
    return said

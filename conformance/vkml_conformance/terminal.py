"""Tells a report in a terminal. Needs rich, so it is imported where something is shown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

from rich.console import Console
from rich.text import Text

from vkml_conformance.account import State, conclusion, outcome, reason, reproduce, verdict
from vkml_conformance.changes import ANOTHER, Change
from vkml_conformance.families import legend, tables
from vkml_conformance.ink import STYLES, mark, say
from vkml_conformance.plain import shown
from vkml_conformance.progress import Progress as Progress
from vkml_conformance.schema import DeviceReport, Finding, Report

FIRST: Final = 4
"""Findings shown of a device, each of another operation."""
LINES: Final = 12
"""Lines shown of why a device failed, and of what a finding says."""


def summary(report: Report, console: Console) -> None:
    """Print the counts by family, the verdicts, the first findings, and what came out."""
    for table in tables(report.devices, console):
        console.print(table)
        console.print()
    if (told := legend(report.devices, console)) is not None:
        console.print(told, style="dim")
    for device in report.devices:
        _verdict(device, console)
    for device in report.devices:
        _findings(device, console)
    console.print()
    state = outcome(report)
    say(console, mark(state, console), " ", (conclusion(report), STYLES[state]))


def changes(found: Sequence[Change], console: Console) -> None:
    """Print what changed since a certificate was issued, and whether it still holds."""
    for change in found:
        state: State = "differs" if change.failure else "left out"
        say(console, mark(state, console), " ", str(change))
    console.print()
    say(console, _holds(found))


def _holds(found: Sequence[Change]) -> str:
    """Say what changes mean for a certificate."""
    if failures := sum(change.failure for change in found):
        return f"The certificate does not hold: {failures} of {len(found)} changes break it."
    if any(change.note == ANOTHER for change in found):
        return "Every device passes, but what the certificate says can no longer be compared."
    return "The certificate holds" + ("; what changed is told above." if found else " unchanged.")


def _verdict(device: DeviceReport, console: Console) -> None:
    """Print a device's verdict, what the device is, why, and what to do."""
    found, state = verdict(device)
    about = (device.hardware, device.kind, f"level {device.level}" if device.level else "")
    told = ", ".join(filter(None, (*about, device.distribution, f"{device.seconds:,.1f} s")))
    head = (
        mark(state, console),
        " ",
        (device.device, "bold"),
        ": ",
        (found, STYLES[state]),
    )
    console.print()
    say(console, *head, f" ({told})")
    _block(console, reason(device))


def _block(console: Console, text: str) -> None:
    """Print the end of a text that may be long: there stands what matters."""
    lines = text.rstrip().split("\n")
    if len(lines) > LINES:
        lines = [lines[0], f"[{len(lines) - LINES} lines left out]", *lines[1 - LINES :]]
    for line in lines if text.strip() else ():
        say(console, line, indent=2)


def _findings(device: DeviceReport, console: Console) -> None:
    """Print the first finding of each of the first operations."""
    by_op: dict[str, list[Finding]] = defaultdict(list)
    for finding in device.findings:
        by_op[finding.op].append(finding)
    for found in islice(by_op.values(), FIRST):
        console.print()
        _finding(device, found[0], console)
    if (more := len(device.findings) - min(len(by_op), FIRST)) > 0:
        ops = ", ".join(f"{op} {len(found):,}" for op, found in islice(by_op.items(), 12))
        ops += ", ..." if len(by_op) > 12 else ""
        told = f"{device.device}: {more:,} more, in the reports. By operation: {ops}."
        console.print()
        say(console, told)


def _finding(device: DeviceReport, finding: Finding, console: Console) -> None:
    """Print one finding: where, both bit patterns, cause, and the command to run it again."""
    what = f"{finding.op} {finding.dtype} {finding.part}".strip()
    about = "; ".join(f"{name} {value}" for name, value in finding.about.items() if value)
    say(console, mark("differs", console), " ", (f"{device.device}: {what}", "bold"))
    if about:
        say(console, about, indent=2)
    _block(console, finding.message)
    for part in _place(finding):
        say(console, part, indent=2)
    command = shown(reproduce(device, finding), console.encoding)
    console.print(Text(f"  {command}", "cyan"), soft_wrap=True)  # so that it can be copied


def _place(finding: Finding) -> Iterable[str]:
    place = finding.place
    if place is None:
        return
    at = f"first at {place.index}" if place.index else ""
    told = f"{place.wrong:,} of {place.of:,} elements differ"
    yield f"{place.what}, {place.run} run: " + ", ".join(filter(None, (told, at)))
    values = [f" ({x})" if x else "" for x in (place.got_value, place.want_value)]
    yield f"got  {place.got}{values[0]}"
    yield f"want {place.want}{values[1]}"
    ulps = "" if place.ulps is None else f"{place.ulps:,} ulp"
    if told := "; ".join(filter(None, (ulps, place.cause))):
        yield told

"""What a report amounts to: sums, the state of a cell, exit code, commands to run it again."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Final, Literal

from vkml_conformance.schema import DeviceReport, Finding, Line, Report, Selection, Verdict

State = Literal["differs", "not run", "in part", "equal", "unsupported", "left out"]
Key = tuple[str, str, str, str]
"""Family, operation, dtype and part: what a line counts."""


@dataclass(frozen=True)
class Sign:
    """How a state is shown where colour cannot be relied on."""

    sign: str
    ascii: str
    about: str


STATES: Final[dict[State, Sign]] = {
    "differs": Sign("✗", "x", "a check differs, raises, crashes or hangs"),
    "not run": Sign("…", "?", "nothing differs so far, but checks were not run"),
    "in part": Sign("◐", "~", "all that is supported has the oracle's bits; the rest is not"),
    "equal": Sign("✓", "+", "every bit is the oracle's"),
    "unsupported": Sign("○", "o", "the device does not have this operation"),
    "left out": Sign("–", "-", "the device's level promises nothing here"),
}
"""From what matters most."""

EXIT: Final[dict[Verdict, int]] = {
    "passed": 0,
    "differs": 1,
    "failed to load": 3,
    "crashed": 4,
    "timed out": 4,
}
MEANING: Final[dict[int, str]] = {
    0: "no difference",
    1: "differences, or nothing to compare",
    3: "a backend could not load",
    4: "crashed or timed out",
}
NOTHING: Final[tuple[str, State]] = ("nothing compared", "not run")
"""Shown instead of `passed` where no check was equal."""


@dataclass(frozen=True)
class Counts:
    """Sums of lines, named as in `schema.Line`; `unrecorded` counts lines."""

    cases: int = 0
    equal: int = 0
    differing: int = 0
    unsupported: int = 0
    left_out: int = 0
    not_run: int = 0
    elements: int = 0
    unrecorded: int = 0
    """Lines in which the oracle itself does not give the recorded results."""

    @classmethod
    def of(cls, lines: Iterable[Line]) -> Counts:
        """Add up lines."""
        kept = tuple(lines)
        names = [f.name for f in fields(cls) if f.name in Line.model_fields]
        sums = {name: sum(getattr(line, name) for line in kept) for name in names}
        return cls(**sums, unrecorded=sum(line.recorded is False for line in kept))

    @property
    def state(self) -> State:
        """Tell the one state that a reader has to see first."""
        if self.differing or self.unrecorded:
            return "differs"
        if self.not_run or not self.cases:
            return "not run"
        if self.equal:
            return "in part" if self.unsupported else "equal"
        return "unsupported" if self.unsupported else "left out"

    def apart(self) -> dict[State, int]:
        """Count what was not compared, by why; only what there is."""
        found: dict[State, int] = {
            "unsupported": self.unsupported,
            "left out": self.left_out,
            "not run": self.not_run,
        }
        return {state: n for state, n in found.items() if n}


def key(of: Line | Finding) -> Key:
    """Give what a line and its findings have in common."""
    return of.family, of.op, of.dtype, of.part


def unrecorded(device: DeviceReport) -> list[Line]:
    """List the lines in which the oracle itself does not give the recorded results."""
    return [line for line in device.lines if line.recorded is False]


def narrowed(selection: Selection) -> dict[str, str]:
    """Give, as text, how fewer checks were chosen than its mode has."""
    chosen = selection.model_dump(exclude_defaults=True, exclude={"mode", "seed"})
    return {
        name: ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
        for name, value in chosen.items()
    }


def exit_code(report: Report) -> int:
    """Give the worst code of all devices; no device at all is a failure to load.

    A device of which nothing was compared has not passed, and has no better code than one that
    differs.
    """
    codes = [
        max(EXIT[device.verdict], int(bool(unrecorded(device)) or verdict(device) == NOTHING))
        for device in report.devices
    ]
    return max(codes, default=EXIT["failed to load"])


def reproduce(device: DeviceReport, finding: Finding) -> str:
    """Give the command, quoted for a shell, that runs the check of a finding alone."""
    first = not device.device.rpartition(":")[2].isdecimal()
    which = ("--backend", device.backend) if first else ("--device", device.device)
    return shlex.join(("vkml-conformance", "reproduce", finding.id, *which))


def verdict(device: DeviceReport) -> tuple[str, State]:
    """Give the verdict as it is shown, and what it looks like: nothing compared is no pass."""
    if device.verdict != "passed":
        return device.verdict, "differs"
    return ("passed", "equal") if Counts.of(device.lines).equal else NOTHING


def outcome(report: Report) -> State:
    """Give what the whole looks like."""
    states = [verdict(device)[1] for device in report.devices]
    if not states or "differs" in states or any(map(unrecorded, report.devices)):
        return "differs"
    return "equal" if set(states) == {"equal"} else NOTHING[1]


def reason(device: DeviceReport) -> str:
    """Say why a device has its verdict: how it failed and what to do, or what was counted."""
    counts = Counts.of(device.lines)
    told = [device.failure.strip()] if device.failure.strip() else []
    if counts.differing:
        told.append(
            f"{counts.differing:,} of {counts.cases:,} checks do not pass, in "
            f"{plural({finding.op for finding in device.findings}, 'operation')}. "
            "Run the command of the first finding and mend that first."
        )
    if verdict(device) == NOTHING:
        told.append("Nothing was compared, so nothing is proved.")
    if lines := unrecorded(device):
        told.append(
            f"The oracle itself does not give the recorded results, first for {lines[0].op} "
            f"{lines[0].dtype} {lines[0].part}: what agrees with it proves nothing. "
            "Reinstall vkml and NumPy, and run again."
        )
    return "\n".join(told)


def conclusion(report: Report) -> str:
    """Say in one line what came out, and what the exit code means."""
    by: dict[str, list[str]] = {}
    for device in report.devices:
        by.setdefault(verdict(device)[0], []).append(device.device)
    passed = len(by.pop("passed", ()))
    told = f"{passed} of {plural(report.devices, 'device')} passed"
    told += "".join(f"; {name}: {', '.join(devices)}" for name, devices in by.items())
    apart = Counts.of(line for device in report.devices for line in device.lines).apart()
    if apart:
        told += "; not counted as passed: "
        told += ", ".join(f"{n:,} {state}" for state, n in apart.items())
    code = exit_code(report)
    return f"{told}. Exit code {code}: {MEANING[code]}."


def plural(things: Iterable[object], name: str) -> str:
    """Count things."""
    n = len(tuple(things))
    return f"{n:,} {name}" + "s" * (n != 1)

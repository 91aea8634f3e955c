"""Writes one HTML page that needs nothing else: the report as data, drawn by page.js."""

from __future__ import annotations

import html
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict
from importlib import resources
from typing import Any, Final

from vkml_conformance.account import (
    STATES,
    Counts,
    conclusion,
    narrowed,
    outcome,
    reason,
    reproduce,
    verdict,
)
from vkml_conformance.atomic import write_text
from vkml_conformance.schema import DeviceReport, Report
from vkml_core.dtypes import DTYPES

Row = tuple[str, str]
"""Family and operation."""
_ESCAPES: Final = {ord(char): f"\\u{ord(char):04x}" for char in "<>&"}
"""A script element ends at `</script`, and `<!--` changes how it is read: neither may stand in it.
All beyond ASCII is escaped by `json`."""
_SLOT: Final = re.compile(r"\{\{(\w+)\}\}")


def write(report: Report, path: str | os.PathLike[str]) -> None:
    """Write the page.

    Raises
    ------
    WriteError
        Where the file cannot be written.

    """
    write_text(path, render(report))


def render(report: Report) -> str:
    """Give the page: template, style, program and data in one."""
    parts = {
        "style": _file("page.css"),
        "program": _file("page.js"),
        "data": json.dumps(view(report), separators=(",", ":")).translate(_ESCAPES),
        "conclusion": html.escape(conclusion(report)),
    }
    # all slots at once: what stands in the report is never taken for a slot
    return _SLOT.sub(lambda slot: parts[slot[1]], _file("page.html"))


def _file(name: str) -> str:
    return resources.files("vkml_conformance").joinpath(name).read_text("utf-8")


def view(report: Report) -> dict[str, Any]:
    """Give the report, and what the page shows of it: rows, columns, cells, commands."""
    lines = [line for device in report.devices for line in device.lines]
    families: dict[str, dict[Row, None]] = defaultdict(dict)
    for line in lines:
        families[line.family][line.family, line.op] = None
    rows = [row for family in families.values() for row in family]
    known = [dtype.name for dtype in DTYPES]
    dtypes = sorted(
        dict.fromkeys(line.dtype for line in lines),
        key=lambda name: known.index(name) if name in known else len(known),
    )
    return {
        "report": report.model_dump(mode="json"),
        "conclusion": conclusion(report),
        "outcome": outcome(report),
        "narrowed": "; ".join(map(" ".join, narrowed(report.selection).items())),
        "states": [{"name": name, **asdict(sign)} for name, sign in STATES.items()],
        "rows": rows,
        "dtypes": dtypes,
        "devices": [_device(device) for device in report.devices],
    }


def _device(device: DeviceReport) -> dict[str, Any]:
    """Give what is worked out of a device; lists run beside those of its report."""
    counts, (found, state) = Counts.of(device.lines), verdict(device)
    return {
        "verdict": found,
        "state": state,
        "reason": reason(device),
        "counts": asdict(counts),
        "cells": list(_cells(device)),
        "states": [Counts.of([line]).state for line in device.lines],
        "commands": [reproduce(device, finding) for finding in device.findings],
    }


def _cells(device: DeviceReport) -> Iterator[dict[str, Any]]:
    """Give one cell for each operation and dtype, all parts together."""
    found = defaultdict(list)
    for line in device.lines:
        found[line.family, line.op, line.dtype].append(line)
    for (family, op, dtype), lines in found.items():
        counts = Counts.of(lines)
        yield {
            "family": family,
            "op": op,
            "dtype": dtype,
            "state": counts.state,
            "counts": asdict(counts),
        }

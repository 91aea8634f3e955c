"""Writes JUnit XML: a test suite per device, a test case per operation, dtype and part."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final
from xml.etree import ElementTree as ET

from vkml_conformance.account import Counts, Key, key, reason, reproduce
from vkml_conformance.atomic import write_text
from vkml_conformance.plain import legal
from vkml_conformance.schema import DeviceReport, Finding, Line, Report

SHOWN: Final = 10
"""Findings told in full in one test case; the JSON report holds them all."""
TAGS: Final = {"failures": "failure", "errors": "error", "skipped": "skipped"}
Case = ET.Element


def write(report: Report, path: str | os.PathLike[str]) -> None:
    """Write a report where CI reads it.

    What is unsupported, left out or not run is a skipped test case of its own.

    Raises
    ------
    WriteError
        Where the file cannot be written.

    """
    root = ET.Element("testsuites", name="vkml-conformance", time=f"{report.seconds:.3f}")
    root.extend(_suite(device, report) for device in report.devices)
    _count(root)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    write_text(path, f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')


def _suite(device: DeviceReport, report: Report) -> ET.Element:
    about = {
        "name": device.device,
        "time": f"{device.seconds:.3f}",
        "timestamp": report.started[:19],
    }
    suite = ET.Element("testsuite", {name: legal(value) for name, value in about.items()})
    suite.append(_properties(device, report))
    findings: dict[Key, list[Finding]] = defaultdict(list)
    for finding in device.findings:
        findings[key(finding)].append(finding)
    if device.verdict not in ("passed", "differs"):
        case = _case(device, ("", "", "", device.verdict))
        suite.append(_with(case, "error", device.verdict, reason(device)))
    for line in device.lines:
        suite.extend(_cases(device, line, findings.pop(key(line), [])))
    for left, found in findings.items():  # met before anything of its line was counted
        suite.append(_failed(device, _case(device, left), found, len(found)))
    _count(suite)
    return suite


def _properties(device: DeviceReport, report: Report) -> ET.Element:
    told = {
        "verdict": device.verdict,
        "hardware": device.hardware,
        "level": device.level,
        "distribution": device.distribution,
        "contract": str(report.contract),
        "suite": report.suite,
        "results": device.results,
    }
    found = ET.Element("properties")
    for name, value in told.items():
        ET.SubElement(found, "property", name=name, value=legal(value))
    return found


def _case(device: DeviceReport, of: Key, suffix: str = "") -> Case:
    family, *words = of
    group = ".".join(part.replace(".", "_") for part in (device.device, family) if part)
    name = " ".join(word for word in (*words, suffix) if word)
    return ET.Element("testcase", classname=legal(group), name=legal(name))


def _cases(device: DeviceReport, line: Line, findings: list[Finding]) -> Iterator[Case]:
    """Give what was compared, then each thing that was not as a skipped case."""
    counts = Counts.of([line])
    apart = counts.apart()
    wrong = counts.differing or len(findings)
    if wrong:
        yield _failed(device, _case(device, key(line)), findings, wrong)
    elif line.recorded is False:
        said = "The oracle itself does not give the recorded results."
        yield _with(_case(device, key(line)), "failure", "oracle", said)
    elif counts.equal or not apart:
        yield _case(device, key(line))
    for state, n in apart.items():
        case = _case(device, key(line), f"({state})")
        yield _with(case, "skipped", state, f"{n:,} of {counts.cases:,} checks: {state}")


def _failed(device: DeviceReport, case: Case, findings: Sequence[Finding], wrong: int) -> Case:
    """Make a case fail where bits differ, and otherwise be in error."""
    differs = any(finding.status == "differs" for finding in findings) or not findings
    text = f"{wrong:,} checks do not pass; the first {min(wrong, SHOWN, len(findings))} follow."
    for finding in findings[:SHOWN]:
        text += f"\n\n{told(device, finding)}"
    first = findings[0].status if findings else "differs"
    return _with(case, "failure" if differs else "error", first, text)


def told(device: DeviceReport, finding: Finding) -> str:
    """Tell a finding in full, as plain text."""
    about = [f"{name}: {value}" for name, value in finding.about.items()]
    place = finding.place
    at = (
        [
            f"{place.what}, {place.run} run: {place.wrong:,} of {place.of:,} differ, first at "
            f"{place.index}",
            f"got  {place.got} {place.got_value}",
            f"want {place.want} {place.want_value}",
            "" if place.ulps is None else f"{place.ulps:,} ulp",
            place.cause,
        ]
        if place
        else []
    )
    lines = [f"{finding.status}: {finding.id}", *about, finding.message, *at]
    return "\n".join([*filter(None, lines), reproduce(device, finding)])


def _with(case: Case, tag: str, kind: str, text: str) -> Case:
    """Add to a case how it ended."""
    message, _, more = legal(text).partition("\n")
    ET.SubElement(case, tag, message=message, type=legal(kind)).text = more or message
    return case


def _count(of: ET.Element) -> None:
    """Set the counts of a suite, or of all suites, from the cases below."""
    cases = list(of.iter("testcase"))
    of.set("tests", str(len(cases)))
    for name, tag in TAGS.items():
        of.set(name, str(sum(case.find(tag) is not None for case in cases)))

"""JUnit XML tells a report truly, and is legal whatever a backend has said."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_readers import EVERYTHING, ended, parsed
from reports import device, finding, line, report
from vkml_conformance.plain import legal


def test_junit_counts_are_those_of_its_cases(tmp_path: Path) -> None:
    root = parsed(EVERYTHING, tmp_path)
    assert root.tag == "testsuites"
    assert [suite.get("name") for suite in root] == [d.device for d in EVERYTHING.devices]
    for of in (root, *root):
        cases = list(of.iter("testcase"))
        assert of.get("tests") == str(len(cases))
        for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert of.get(name) == str(len([x for x in cases if ended(x) == tag]))
    cpu, differing, small, crashing, unloaded = root
    assert {ended(x) for x in cpu.iter("testcase")} == {"passed"}
    assert len(list(cpu.iter("testcase"))) == len(EVERYTHING.devices[0].lines)
    assert {ended(x) for x in differing.iter("testcase")} == {"passed", "failure"}
    assert {ended(x) for x in small.iter("testcase")} == {"passed", "skipped"}
    assert [ended(x) for x in unloaded.iter("testcase")] == ["error"]
    assert "libmy2" in "".join(unloaded.itertext())
    assert crashing.get("errors") == "2"


def test_junit_follows_the_common_schema(tmp_path: Path) -> None:
    root = parsed(EVERYTHING, tmp_path)
    for suite in root:
        assert {"name", "tests", "failures", "errors", "skipped", "time", "timestamp"} == set(
            suite.attrib
        )
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.get("timestamp", ""))
        assert next(x.tag for x in suite) == "properties"
        assert {x.tag for x in suite} <= {"properties", "testcase"}
        names = [(x.get("classname"), x.get("name")) for x in suite.iter("testcase")]
        assert len(set(names)) == len(names)
        for case in suite.iter("testcase"):
            assert len(case) <= 1
            assert {"message", "type"} == set(case[0].attrib) if len(case) else True


def test_junit_tells_a_finding_in_full(tmp_path: Path) -> None:
    root = parsed(report(device(verdict="differs", findings=(finding(),))), tmp_path)
    (failure,) = root.iter("failure")
    text = failure.text or ""
    for part in ("0x3f800001", "0x3f800000", "1 ulp", "fused", "(0, 31)", "layout: transposed"):
        assert part in text
    assert "vkml-conformance reproduce add-float32-forward-7c3a --backend vulkan" in text


@pytest.mark.parametrize(
    ("counts", "ends"),
    [
        ({"equal": 3}, ["passed"]),
        ({"equal": 3, "unsupported": 2}, ["passed", "skipped"]),
        ({"unsupported": 2}, ["skipped"]),
        ({"left_out": 2, "not_run": 1}, ["skipped", "skipped"]),
        ({"equal": 3, "differing": 1, "not_run": 1}, ["failure", "skipped"]),
        ({"equal": 3, "recorded": False}, ["failure"]),
    ],
)
def test_junit_passes_only_what_was_compared(counts: Any, ends: Any, tmp_path: Path) -> None:
    root = parsed(report(device(lines=(line(**counts),))), tmp_path)
    assert [ended(x) for x in root.iter("testcase")] == ends


def test_junit_loses_no_finding_that_has_no_line(tmp_path: Path) -> None:
    of = device(verdict="crashed", lines=(), findings=(finding("exp", status="crash"),))
    root = parsed(report(of), tmp_path)
    assert [x.get("name") for x in root.iter("testcase")] == ["crashed", "exp float32 forward"]
    assert root.get("errors") == "2"


@settings(max_examples=100, deadline=None)
@given(text=st.text(st.characters(categories=None, exclude_categories=["Cs"])))
def test_junit_is_legal_whatever_was_said(text: str, tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("junit")
    named = finding(text, text, "forward", message=text, status="error", place=None, family=text)
    of = device(text, "crashed", failure=text, hardware=text, findings=(named,))
    root = parsed(report(of), folder)
    assert root[0].get("name") == legal(text)
    said_ = "".join(next(x for x in root.iter("error") if x.get("type") == "error").itertext())
    assert legal(text) in said_


@given(st.text(st.characters(categories=None)))
def test_legal_text_is_read_back_by_xml(text: str) -> None:
    made = ET.Element("a", b=legal(text))
    made.text = legal(text)
    back = ET.fromstring(ET.tostring(made, encoding="unicode"))
    assert (back.text or "", back.get("b")) == (legal(text), legal(text))

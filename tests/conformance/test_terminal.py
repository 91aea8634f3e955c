"""The terminal is told truly what a report says, whatever a backend has said."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_readers import EVERYTHING, console, said, told
from reports import device, finding, line, report
from rich.cells import cell_len
from vkml_conformance.changes import ANOTHER, Change
from vkml_conformance.plain import shown
from vkml_conformance.progress import Progress
from vkml_conformance.terminal import changes


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "latin-1", "cp1252"])
@pytest.mark.parametrize("width", [20, 80, 200])
def test_summary_is_shown_by_any_terminal(encoding: str, width: int) -> None:
    text = told(EVERYTHING, encoding=encoding, width=width)
    commands = [x for x in text.split("\n") if "vkml-conformance reproduce" in x]
    assert len(commands) == 4
    if width >= 80:
        wide = [x for x in text.split("\n") if cell_len(x) > width and x not in commands]
        assert wide == []
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f]", text)


def test_summary_tells_what_has_to_be_told() -> None:
    text = told(EVERYTHING)
    assert "✗ 13,806/13,824   ◐ 7,200/13,824  ○ 6,624" in text
    assert "libmy.so.2: cannot open shared object file; install the package libmy2." in text
    for part in ("got  0x3f800001 (1.0000001)", "want 0x3f800000 (1.0)", "(0,\n  31)"):
        assert part in text
    assert "1 ulp; multiply and add fused" in text
    assert "  vkml-conformance reproduce exp-float32-forward-7c3a --device vulkan:1\n" in text
    assert text.rstrip().endswith("Exit code 4: crashed or timed out.")


def test_summary_shows_the_first_finding_of_each_operation_and_counts_the_rest() -> None:
    found = tuple(finding(op) for op in ("add", "sub", "mul", "div", "exp") for _ in range(3))
    text = told(report(device(verdict="differs", findings=found)))
    assert text.count("vkml-conformance reproduce") == 4
    assert "11 more" in text and "div 3, exp" in text


def test_unsupported_is_never_in_the_colour_of_passed() -> None:
    of = report(device(lines=(line(unsupported=3),)))
    text = told(of, color_system="standard", force_terminal=True)
    green = re.findall("\x1b\\[32m([^\x1b]*)", text)
    assert not any("0/3" in part or "3" in part for part in green[:-1] if "passed" not in part)
    assert "nothing is proved" in text


def test_colours_are_shown_in_a_terminal_and_not_without(monkeypatch: Any) -> None:
    plain = {"color_system": "auto", "force_terminal": True}
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\x1b[1;31m" in told(EVERYTHING, **plain)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not re.search("\x1b\\[[0-9;]*3[0-7]m", told(EVERYTHING, **plain))
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in told(EVERYTHING, **plain)


def test_long_failure_is_cut_in_the_middle() -> None:
    failure = "\n".join(["ended by SIGSEGV", *map(str, range(500)), "the last line"])
    text = told(report(device(verdict="crashed", failure=failure)))
    assert "ended by SIGSEGV" in text and "the last line" in text
    assert text.count("\n") < 40


@settings(max_examples=50, deadline=None)
@given(st.text(), st.sampled_from(["utf-8", "ascii"]))
def test_summary_survives_any_text(text: str, encoding: str) -> None:
    told_ = finding(message=text, about={text: text}, id=text or "x")
    of = device(verdict="crashed", failure=text, hardware=text, findings=(told_,))
    out = told(report(of), encoding=encoding)
    assert "\x1b" not in out and "Exit code 4" in out


@given(st.text(st.characters(categories=None)))
def test_shown_text_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    for encoding in ("utf-8", "ascii"):
        out = shown(text, encoding)
        out.encode(encoding)
        assert not set(out) & set("\x1b\r\x07\x08\x7f\x9b\u202e\u2066")


def test_changes_tell_whether_the_certificate_holds() -> None:
    for found, words in (
        ([], "holds unchanged"),
        ([Change("python", "3.11", "3.12")], "holds; what changed is told above"),
        (
            [Change("suite", "a", "b"), Change("cpu results", "a", "b", note=ANOTHER)],
            "no longer be",
        ),
        ([Change("a", "1", "2"), Change("vulkan level", "x", "y", True)], "does not hold: 1 of 2"),
    ):
        to = console("ascii")
        changes(found, to)
        assert words in said(to)


# progress


def test_progress_prints_plain_lines_every_ten_seconds() -> None:
    now = 0.0
    to = console("ascii")
    with Progress(to, clock=lambda: now) as shown_:
        for second in range(31):
            now = float(second)
            shown_.update("vulkan", second, 40, 0, f"check {second} é\x1b")
            shown_.update("idle", 5, 40, 1, "")
    lines = said(to).splitlines()
    assert [x for x in lines if x.startswith("vulkan")] == [
        f"vulkan: {n} of 40 checks ({n / 40:.0%}), 0 differ; check {n} \\xe9\\x1b"
        for n in (10, 20, 30)
    ]
    assert [x for x in lines if x.startswith("idle")] == ["idle: 5 of 40 checks (12%), 1 differ"]


@pytest.mark.parametrize("dumb", [True, False])
def test_progress_moves_the_cursor_in_a_terminal_that_can(dumb: bool) -> None:
    to = console(force_terminal=True, _environ={"TERM": "dumb" if dumb else "xterm"})
    with Progress(to) as shown_:
        shown_.update("a device[red]", 0, 0, 0, "")
        shown_.update("a device[red]", 1200, 2400, 3, "gradient of [bold]matmul\nx" * 9)
    text = said(to)
    assert ("\x1b" in text) is not dumb
    assert "a device[red]" in text and "3 differ" in text
    if not dumb:
        last = re.sub("\x1b\\[[0-9;?]*[A-Za-z]", "", text).replace("\r", "\n").split("\n")
        assert max(map(cell_len, last)) <= 80
        assert any("1,200/2,400" in x for x in last)


def test_progress_tells_the_end_of_what_was_short() -> None:
    to = console()
    with Progress(to) as shown_:
        shown_.update("cpu", 7, 7, 0, "")
    assert said(to) == "cpu: 7 of 7 checks (100%), 0 differ\n"

"""Reports of any size are told in full by terminal, JUnit XML and page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from report_readers import EVERYTHING, UNRECORDED, embedded, parsed, told
from reports import EVIL, device, every_line, finding, line, report
from vkml_conformance import junit, page
from vkml_conformance.account import (
    conclusion,
    exit_code,
)
from vkml_conformance.atomic import WriteError
from vkml_conformance.schema import Report


def huge() -> Report:
    findings = tuple(
        finding(message=EVIL * 5, id=f"add-{n}", script="x = 1\n" * 40) for n in range(2000)
    )
    lines = tuple(every_line(equal=40, differing=2))
    return report(*(device(f"gpu{n}", "differs", lines=lines, findings=findings) for n in range(5)))


def test_huge_report_is_written_whole(tmp_path: Path) -> None:
    of = huge()
    page.write(of, tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 20_000_000
    assert len(embedded((tmp_path / "page.html").read_text("utf-8"))["devices"]) == 5
    root = parsed(of, tmp_path)
    assert len(list(root.iter("failure"))) == 5 * len(of.devices[0].lines)
    assert len(told(of).splitlines()) < 200


@pytest.mark.parametrize("write", [page.write, junit.write], ids=["page", "junit"])
def test_report_that_cannot_be_written_leaves_what_was(write: Any, tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="cannot be written"):
        write(EVERYTHING, tmp_path / "missing" / "file")
    with pytest.raises(WriteError, match="cannot be written"):
        write(EVERYTHING, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "of",
    [report(), report(device(lines=(), verdict="passed", results="")), UNRECORDED],
    ids=["no device", "no line", "wrong oracle"],
)
def test_report_with_little_in_it(of: Report, tmp_path: Path) -> None:
    assert "Exit code" in told(of)
    parsed(of, tmp_path)
    page.render(of)


@pytest.mark.parametrize("lines", [(), (line(unsupported=4),), (line(left_out=4),)])
def test_device_of_which_nothing_was_compared_is_not_told_as_passed(lines: Any) -> None:
    of = report(device("cpu"), device("small", lines=lines))
    assert conclusion(of).startswith("1 of 2 devices passed; nothing compared: small")
    assert "? small: nothing compared" in told(of, encoding="ascii")
    assert "nothing is proved" in told(of)
    data = page.view(of)
    assert (data["outcome"], data["devices"][1]["state"]) == ("not run", "not run")
    assert exit_code(of) == 1

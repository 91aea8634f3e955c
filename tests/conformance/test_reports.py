"""Terminal, JUnit XML and HTML tell a report truly, whatever a backend has said."""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reports import EVIL, device, every_line, everything, finding, line, report
from rich.cells import cell_len
from rich.console import Console
from vkml_conformance import junit, page
from vkml_conformance.account import (
    EXIT,
    STATES,
    Counts,
    conclusion,
    exit_code,
    reason,
    reproduce,
)
from vkml_conformance.atomic import WriteError
from vkml_conformance.changes import ANOTHER, Change
from vkml_conformance.plain import legal, shown
from vkml_conformance.progress import Progress
from vkml_conformance.schema import Report, Selection
from vkml_conformance.terminal import changes, summary

EVERYTHING = everything()
UNRECORDED = report(device(verdict="differs", lines=(line(equal=5, recorded=False),)))


def console(encoding: str = "utf-8", **how: Any) -> Console:
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    return Console(file=file, **{"width": 80, "color_system": None, **how})


def said(to: Console) -> str:
    file: Any = to.file
    file.flush()
    data: bytes = file.buffer.getvalue()
    return data.decode(file.encoding)


def told(of: Report, **how: Any) -> str:
    to = console(**how)
    summary(of, to)
    return said(to)


# what a report amounts to

COUNTS = {
    "equal": {"equal": 3, "left_out": 2},
    "in part": {"equal": 3, "unsupported": 1},
    "differs": {"equal": 3, "differing": 1, "unsupported": 1, "not_run": 1},
    "not run": {"equal": 3, "not_run": 1},
    "unsupported": {"unsupported": 1, "left_out": 1},
    "left out": {"left_out": 1},
}


@pytest.mark.parametrize("state", COUNTS)
def test_state_of_counts(state: str) -> None:
    assert Counts.of([line(**COUNTS[state])]).state == state


def test_every_state_is_met_and_has_its_own_signs() -> None:
    assert set(COUNTS) == set(STATES)
    for signs in ([s.sign for s in STATES.values()], [s.ascii for s in STATES.values()]):
        assert len(set(signs)) == len(signs)
    assert all(sign.ascii.isascii() for sign in STATES.values())


def test_nothing_is_not_equal() -> None:
    assert Counts.of([]).state == "not run"
    assert Counts.of([line(equal=3, recorded=False)]).state == "differs"


@pytest.mark.parametrize(("verdict", "code"), EXIT.items())
def test_exit_code_is_the_worst_of_all(verdict: Any, code: int) -> None:
    for devices in ([device(verdict=verdict), device("cpu")], [device(verdict=verdict)]):
        for order in (devices, devices[::-1]):
            found = report(*order)
            assert exit_code(found) == code
            assert f"Exit code {code}: " in conclusion(found)


def test_exit_code_of_nothing_and_of_a_wrong_oracle_is_not_success() -> None:
    assert exit_code(report()) == 3
    assert exit_code(report(device(lines=(line(equal=5, recorded=False),)))) == 1


def test_conclusion_counts_apart_what_was_not_compared() -> None:
    text = conclusion(EVERYTHING)
    assert text.startswith("2 of 5 devices passed; differs: vulkan:1; crashed: crashing; ")
    assert re.search(r"not counted as passed: [\d,]+ unsupported, 288 left out, [\d,]+ not", text)
    assert "not counted" not in conclusion(report(device()))


def test_reason_says_that_nothing_was_compared() -> None:
    assert "nothing is proved" in reason(device(lines=(line(unsupported=4),)))
    assert reason(device()) == ""
    assert "oracle itself" in reason(UNRECORDED.devices[0])


COMMANDS = {
    "vulkan": "vkml-conformance reproduce 'add (2,3)' --backend vulkan",
    "vulkan:1": "vkml-conformance reproduce 'add (2,3)' --device vulkan:1",
    "a.b:c": "vkml-conformance reproduce 'add (2,3)' --backend a.b:c",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_command_names_the_device_as_the_command_takes_it(name: str) -> None:
    backend = name if name == "a.b:c" else "vulkan"
    assert reproduce(device(name, backend=backend), finding(id="add (2,3)")) == COMMANDS[name]


@given(st.text(min_size=1))
def test_command_holds_any_id_as_one_word(identity: str) -> None:
    assert shlex.split(reproduce(device(), finding(id=identity)))[2] == identity


# terminal


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


# JUnit


def parsed(of: Report, folder: Path) -> ET.Element:
    junit.write(of, folder / "junit.xml")
    return ET.parse(folder / "junit.xml").getroot()


def ended(case: ET.Element) -> str:
    return next((child.tag for child in case), "passed")


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


# page


class Parts(HTMLParser):
    """Collects elements, and the text of scripts and styles as a browser delimits them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] in ("script", "style"):
            self.raw.append(data)


def embedded(text: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_page_holds_the_report_and_nothing_from_elsewhere(tmp_path: Path) -> None:
    page.write(EVERYTHING, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text("utf-8")
    assert Report.model_validate(embedded(text)["report"]) == EVERYTHING
    tags = Parts(text).tags
    assert [tag for tag, _ in tags].count("script") == 2
    assert {tag for tag, _ in tags}.isdisjoint({"link", "img", "iframe", "object", "base", "a"})
    assert not any({"src", "href", "srcset", "action"} & set(attrs) for _, attrs in tags)
    assert not any(name.startswith("on") for _, attrs in tags for name in attrs)
    assert not re.search(r"https?:|//\w+\.|url\(|@import|fetch\(|XMLHttp|innerHTML|eval\(", text)
    assert "{{" not in text.replace(EVIL[-10:], "")


def test_page_forbids_every_request() -> None:
    (policy,) = [
        attrs["content"] or ""
        for tag, attrs in Parts(page.render(EVERYTHING)).tags
        if attrs.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules.pop("default-src") == "'none'"
    assert rules.pop("style-src") == rules.pop("script-src") == "'unsafe-inline'"
    assert set(rules.values()) == {"'none'"}


@settings(max_examples=100, deadline=None)
@given(
    st.one_of(st.text(), st.sampled_from(["</script>", "<!--<script>", "]]>", "{{data}}", EVIL]))
)
def test_page_is_not_broken_out_of(text: str) -> None:
    of = report(device("d" + text, "crashed", failure=text, findings=(finding(message=text),)))
    made = page.render(of)
    plain = page.render(report(device("d", "crashed", findings=(finding(),))))
    assert [tag for tag, _ in Parts(made).tags] == [tag for tag, _ in Parts(plain).tags]
    assert embedded(made)["report"]["devices"][0]["failure"] == text
    data = made[made.index('id="data">') : made.index("</script>")]
    assert data.isascii() and "<" not in data


def test_page_has_a_sign_for_each_state_and_a_style_for_its_colour() -> None:
    text = page.render(EVERYTHING)
    style = text[text.index("<style>") : text.index("</style>")]
    for state in embedded(text)["states"]:
        assert state["sign"] and state["about"]
        name = state["name"].replace(" ", "-")
        assert f".{name} {{" in style and f"--{name}:" in style


def test_page_uses_only_what_the_template_has() -> None:
    text = page.render(EVERYTHING)
    ids = {attrs["id"] for _, attrs in Parts(text).tags if "id" in attrs}
    program = text[text.rindex("<script>") :]
    asked = set(re.findall(r'\$\("([\w-]+)"\)', program)) | {"data"}
    assert asked <= ids
    assert set(re.findall(r"\bdata\.(\w+)", program)) <= set(embedded(text)) | {
        "map",
        "textContent",
    }


def test_page_has_a_cell_for_each_operation_and_dtype_of_each_device() -> None:
    data = page.view(EVERYTHING)
    assert len(data["rows"]) == len({(x.family, x.op) for x in EVERYTHING.devices[0].lines})
    families = [family for family, _ in data["rows"]]
    assert families == sorted(families, key=families.index)
    for shown_, of in zip(data["devices"], EVERYTHING.devices, strict=True):
        assert len(shown_["cells"]) == len({(x.op, x.dtype) for x in of.lines})
        assert sum(cell["counts"]["cases"] for cell in shown_["cells"]) == sum(
            x.cases for x in of.lines
        )
        assert len(shown_["commands"]) == len(of.findings)
        assert len(shown_["states"]) == len(of.lines)


def test_page_cell_shows_the_worst_of_its_parts() -> None:
    lines = (line(equal=3), line(part="gradient", differing=1), line("sub", equal=1, unsupported=1))
    cells = page.view(report(device(lines=lines)))["devices"][0]["cells"]
    assert [(cell["op"], cell["state"]) for cell in cells] == [
        ("add", "differs"),
        ("sub", "in part"),
    ]
    cells = page.view(UNRECORDED)["devices"][0]["cells"]
    assert [cell["state"] for cell in cells] == ["differs"]


def test_page_says_how_the_run_was_narrowed() -> None:
    of = report(device(), selection=Selection(ops=("conv*", "add"), cases=3, mode="quick", seed=4))
    assert page.view(of)["narrowed"] == "ops conv*, add; cases 3"
    assert page.view(report(device()))["narrowed"] == ""


def drawn(path: Path) -> tuple[str, str] | None:
    """The page as a browser has drawn it, and what it complained of; None without a browser."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if found is None:
        return None
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    flags += ["--enable-logging=stderr", f"--user-data-dir={path.parent / 'profile'}"]
    done = subprocess.run(
        [found, *flags, "--dump-dom", path.as_uri()], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, "\n".join(x for x in done.stderr.splitlines() if "CONSOLE" in x)


def test_page_is_drawn_with_all_cells_by_a_browser_where_there_is_one(tmp_path: Path) -> None:
    page.write(EVERYTHING, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    places = [tag for tag, attrs in Parts(text).tags if attrs.get("id") in ("matrix", "devices")]
    assert places == ["div", "div"]  # what the program fills, also where no browser runs it
    if (found := drawn(tmp_path / "page.html")) is None:
        return
    tags = [attrs for _, attrs in Parts(found[0]).tags]
    classes = [(attrs.get("class") or "").split() for attrs in tags]
    cells = [cell for of in page.view(EVERYTHING)["devices"] for cell in of["cells"]]
    for state in STATES:
        met = sum("cell" in each and state.replace(" ", "-") in each for each in classes)
        assert met == sum(cell["state"] == state for cell in cells) > 0
    assert sum("card" in each for each in classes) == len(EVERYTHING.devices)
    assert found[1] == ""


# all of them


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

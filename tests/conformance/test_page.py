"""The page tells a report truly, and holds nothing that a backend could break out with."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from report_readers import EVERYTHING, UNRECORDED, Parts, embedded
from reports import EVIL, device, finding, line, report
from vkml_conformance import page
from vkml_conformance.account import (
    STATES,
)
from vkml_conformance.schema import Report, Selection


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

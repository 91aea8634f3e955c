"""What the tests of reports read them with: a terminal, JUnit XML, the page."""

from __future__ import annotations

import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from reports import device, everything, line, report
from rich.console import Console
from vkml_conformance import junit
from vkml_conformance.schema import Report
from vkml_conformance.terminal import summary

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


def parsed(of: Report, folder: Path) -> ET.Element:
    junit.write(of, folder / "junit.xml")
    return ET.parse(folder / "junit.xml").getroot()


def ended(case: ET.Element) -> str:
    return next((child.tag for child in case), "passed")


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

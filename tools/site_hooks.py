"""What MkDocs asks of this project: pages that are generated, and links that leave docs/.

A folder of the navigation (`adr/`) stands for its pages. Links to files outside docs/, which lead
somewhere in a checkout, become the file's name; links to folders lead to a list of what they hold.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import site_reference
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from site_griffe import linked

DOCS: Final = Path(__file__).parents[1] / "docs"
DECISIONS: Final = "adr"
FOLDERS: Final = (DECISIONS, site_reference.API, site_reference.CONTRACT)
"""Folders that have an index page, made now."""
LINK: Final = re.compile(r"\[([^\]]*)\]\(([^)#:]+)(#[^)]*)?\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of folders into the navigation."""
    config.nav = _filled(config.nav)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are made now."""
    for path, text in generated():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Have each link lead to a page, or be a name."""
    folder = posixpath.dirname(page.file.src_uri)
    return LINK.sub(lambda found: _linked(found, folder), markdown)


def generated() -> Iterator[tuple[str, str]]:
    """Give the place and the text of each page that is no file in docs/."""
    for page in site_reference.pages():
        yield page.path, linked(page.markdown())
    rows = [f"* [{_title(path)}]({path.name})" for path in _decisions()]
    yield f"{DECISIONS}/index.md", "\n".join(["# Decisions", "", *rows, ""])


def _title(path: Path) -> str:
    return path.read_text("utf-8").splitlines()[0].lstrip("# ")


def _decisions() -> list[Path]:
    return sorted((DOCS / DECISIONS).glob("*.md"))


def _filled(nav: Any) -> Any:
    if isinstance(nav, list):
        return [_filled(item) for item in nav]
    if isinstance(nav, dict):
        return {title: _filled(item) for title, item in nav.items()}
    return _pages(nav.rstrip("/")) if nav.endswith("/") else nav


def _pages(folder: str) -> list[str]:
    made = [path for path, _ in generated() if path.startswith(f"{folder}/")]
    return made + [f"{folder}/{p.name}" for p in (DOCS / folder).glob("*.md")]


def _linked(found: re.Match[str], folder: str) -> str:
    text, target, anchor = found[1], found[2], found[3] or ""
    place = posixpath.normpath(posixpath.join(folder, target))
    if place.startswith("../"):
        name = f"`{place.removeprefix('../')}`"
        return name if text == name else f"{text} ({name})"
    if place in FOLDERS:
        return f"[{text}]({posixpath.join(target, 'index.md')}{anchor})"
    return found[0]

"""The site of the documentation: what needs no build to be checked. `make docs` checks the rest.

`mkdocs build --strict`, a stage of `make test`, fails on a link or an anchor that leads nowhere, a
page outside the navigation, and a name of the reference that does not exist.
"""

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

import vkml
from vkml import attribution, data, nn, optim, serialize
from vkml_core.public import PUBLIC

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
KINDS = {"by design", "would break a guarantee", "not yet", "waiting on a measurement"}
PACKAGES = {
    "vkml": vkml,
    "vkml.nn": nn,
    "vkml.nn.functional": nn.functional,
    "vkml.nn.init": nn.init,
    "vkml.optim": optim,
    "vkml.data": data,
    "vkml.attribution": attribution,
}


@pytest.fixture(scope="module")
def tools() -> Iterator[dict[str, ModuleType]]:
    """The modules of tools/ that make the site."""
    pytest.importorskip("griffe", reason="the extra docs is not installed")
    before = sys.path[:]
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        import site_griffe
        import site_reference

        yield {"griffe": site_griffe, "reference": site_reference}
    finally:
        sys.path[:] = before


def test_every_public_name_is_on_one_page(tools: dict[str, ModuleType]) -> None:
    reference = tools["reference"]
    contract = {f"{m}.{n}" for m, names in reference.PROMISED.items() for n in names.split()}
    shown = [name for page in reference.pages() for name in page.names]
    assert len(shown) == len(set(shown))
    for package, module in PACKAGES.items():
        public = {n for n in module.__all__ if not inspect.ismodule(getattr(module, n))}
        public -= {*reference.ALIASES}
        assert {f"{package}.{n}" for n in public} <= {*shown}, package
    assert {f"vkml.{n}" for n in serialize.__all__} <= {*shown}
    assert {f"vkml.{n}" for n in PUBLIC if n != "getitem"} <= {*shown}
    assert {n for n in shown if n.startswith("vkml_core.")} == contract


def test_every_name_of_the_reference_has_a_docstring(tools: dict[str, ModuleType]) -> None:
    griffe = sys.modules["griffe"]
    extensions = griffe.load_extensions(tools["griffe"].Reference)
    loader = griffe.GriffeLoader(search_paths=[ROOT], extensions=extensions)
    for package in ("vkml", "vkml_core", "vkml_nn", "vkml_optim"):
        loader.load(package)
    loader.resolve_aliases()
    shown = [name for page in tools["reference"].pages() for name in page.names]
    assert [name for name in shown if not loader.modules_collection[name].docstring] == []


def test_functions_made_at_import_are_spelled_out(tools: dict[str, ModuleType]) -> None:
    for module, name in (
        ("vkml", "exp"),
        ("vkml_core.plugins", "open_device"),
        ("vkml_nn.functional", "relu"),
    ):
        found = dict(tools["griffe"].made(module))[name]
        function = inspect.getattr_static(sys.modules[module], name)
        assert found.docstring.value == inspect.getdoc(function)
        assert [p.name for p in found.parameters] == [*inspect.signature(function).parameters]


def test_doctests_become_blocks(tools: dict[str, ModuleType]) -> None:
    text = "One.\n\n>>> 1 + 1\n2\n\nTwo; see docs/limits.md.\n\n>>> 3\n3"
    wanted = (
        "One.\n\n```pycon\n>>> 1 + 1\n2\n```\n\nTwo; see docs/limits.md.\n\n```pycon\n>>> 3\n3\n```"
    )
    assert tools["griffe"].fenced(text) == wanted
    assert tools["griffe"].linked("see `docs/a-b.md`.") == "see [a-b](../a-b.md)."


def docstrings() -> Iterator[tuple[str, str]]:
    for path in sorted(ROOT.glob("vkml*/**/*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            if documented and (text := ast.get_docstring(node)):
                yield f"{path.name}: {getattr(node, 'name', 'module')}", text


@pytest.mark.parametrize("of", ["docstrings", "pages"])
def test_lists_and_formulas_stand_alone(of: str) -> None:
    """Markdown takes a list or an indented line for text where no blank line is before it."""
    pages = ((p.name, p.read_text("utf-8")) for p in DOCS.rglob("*.md"))
    indented, item = re.compile(r" {4}"), re.compile(r"([*-]|\d+\.) ")
    for place, text in docstrings() if of == "docstrings" else pages:
        prose = re.sub(r"^(>>> .*?(?=\n\n|\Z)|```.*?^```)", "", text, flags=re.M | re.S)
        lines = prose.splitlines()
        for before, line in pairwise(lines):
            if before and not before.startswith(" ") and not item.match(before):
                assert not item.match(line) and not indented.match(line), f"{place}: {line}"


def rows(page: Path) -> Iterator[tuple[list[str], list[str]]]:
    """The cells of each row of a page's tables, each with the cells of its table's head."""
    head: list[str] | None = None
    for line in page.read_text("utf-8").splitlines():
        if not line.startswith("|"):
            head = None
        elif head is None:
            head = [cell.strip() for cell in line.strip("|").split("|")]
        elif not re.fullmatch(r"[|:-]+", line):
            yield head, [cell.strip() for cell in line.strip("|").split("|")]


def test_every_limit_has_one_of_four_kinds() -> None:
    found = [(head, cells) for head, cells in rows(DOCS / "limits.md")]
    assert len(found) > 50
    for head, cells in found:
        assert cells[head.index("kind")] in KINDS, cells
    assert {cells[head.index("kind")] for head, cells in found} == KINDS

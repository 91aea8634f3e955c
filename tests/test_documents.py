"""Every Python block of the README and of docs/ runs, block after block in one process a page;
shell blocks name what is there: commands, extras, scripts, options.
"""

import re
import shlex
import subprocess
import sys
import tomllib
from itertools import permutations
from pathlib import Path

import pytest
from vkml_conformance.cli.main import main as conformance

from vkml.cli import COMMANDS
from vkml.cli import main as command

ROOT = Path(__file__).parent.parent
TEXTS = (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
MADE = "api/"
"""A folder of the site that `make docs` makes, and checks links to."""
PAGES = [p for p in TEXTS if "```python" in p.read_text()]


def blocks(page: Path, language: str = "python") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.M | re.S)


def commands(page: Path) -> list[list[str]]:
    """The words of each line of the shell blocks, without comments."""
    lines = "".join(blocks(page, "sh")).splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_blocks_run(page: Path, tmp_path: Path) -> None:
    script = "\n".join(blocks(page))
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


def test_readme_example_learns(tmp_path: Path) -> None:
    example = next(b for b in blocks(ROOT / "README.md") if "optimizer.step()" in b)
    assert len([line for line in example.splitlines() if line.strip()]) <= 15
    done = subprocess.run(
        [sys.executable, "-c", example], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    found = re.search(r"accuracy ([\d.]+)%", done.stdout)
    assert found is not None and float(found[1]) > 90


def test_links_lead_somewhere() -> None:
    for page in TEXTS:
        for target in re.findall(r"\]\(([^)#]+?)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target and target != MADE:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_shell_blocks_name_what_is_there() -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = re.findall(r"^([a-z]+):", makefile, re.M)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = list(project["optional-dependencies"])
    extras += map(",".join, permutations(extras, 2))
    there = {
        "make": [[t] for t in targets],
        "vkml": [[c] for c in COMMANDS],
        "pip": [
            ["install", f".[{extra}]"]
            for extra in (*extras, *map(",".join, permutations(extras, 2)))
        ]
        + [["install", "--no-deps", re.findall(r"^MINILM := (\S+)", makefile, re.M)[0]]],
        "vkml-conformance": [[c] for c in conformance.commands],
        "python": [[str(p.relative_to(ROOT))] for p in (ROOT / "examples").rglob("*.py")],
    }
    found = commands(ROOT / "README.md")
    assert {words[0] for words in found} == there.keys()
    for words in found:
        told = words[1:2] if words[0] == "python" else words[1:]  # an example's options follow
        assert told in there[words[0]], words


SHELL = [(p, words) for p in TEXTS for words in commands(p)]
OTHERS = {"make", "pip", "pytest"}
"""Commands whose options are not ours."""


def helped(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    """What a command of vkml's says of itself, or the sources of a script."""
    if words[0] == "vkml-conformance":
        return " ".join(o for p in conformance.commands[words[1]].params for o in p.opts)
    if words[0] == "vkml":
        with pytest.raises(SystemExit, match="0"):
            command([words[1], "--help"])
        return capsys.readouterr().out
    assert words[0] == "python", words
    if words[1] == "-m":
        return ""
    folder = (ROOT / words[1]).parent
    return (ROOT / words[1]).read_text() + "".join(p.read_text() for p in folder.rglob("kit/*.py"))


@pytest.mark.parametrize(
    ("page", "words"), SHELL, ids=[f"{p.name}: {' '.join(words)}" for p, words in SHELL]
)
def test_shell_options_exist(
    page: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    while "=" in words[0]:  # a variable for one command
        words = words[1:]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extras in re.findall(r"\[(.+?)\]", " ".join(words)):
        assert {*extras.split(",")} <= {*project["optional-dependencies"]}
    if words[0] in OTHERS:
        return
    text = helped(words, capsys)
    for option in (word.partition("=")[0] for word in words if word.startswith("--")):
        assert option in re.findall(r"--[a-z-]+", text), option

"""`vkml-conformance new-backend`: what it writes, what it refuses, and that this leaves nothing."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
from contextlib import chdir
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from vkml_conformance import new_backend
from vkml_conformance.atomic import WriteError
from vkml_conformance.cli.main import main
from vkml_conformance.new_backend import FILES, create, project

from vkml_core.backend import API_VERSION
from vkml_core.errors import ArgumentError

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "backend_template"
MADE = {"__pycache__", ".pytest_cache"}
"""Folders that running leaves."""
PART = st.text("abcxyz019", min_size=1, max_size=6)
DISTRIBUTION = r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?"
"""A name as PEP 508 wants it."""


def there(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in folder.rglob("*")
        if path.is_file() and not MADE & set(path.parts)
    }


def test_the_example_is_what_the_command_writes() -> None:
    told = "rm -r examples/backend_template and write it anew with new-backend --name template"
    assert there(EXAMPLE) == project("template"), told


def test_what_is_written_is_told(tmp_path: Path) -> None:
    written = create(tmp_path / "new one", "a-b")
    assert there(tmp_path / "new one") == project("a-b")
    assert sorted(written) == sorted(project("a-b")) and len(written) == len(FILES)
    assert list(tmp_path.iterdir()) == [tmp_path / "new one"]


@given(st.sampled_from("abz"), PART, st.lists(st.tuples(st.sampled_from("-_"), PART), max_size=3))
def test_any_name_makes_a_project(letter: str, start: str, more: list[tuple[str, str]]) -> None:
    name = letter + start + "".join(map("".join, more))
    files = project(name)
    told = tomllib.loads(files["pyproject.toml"])
    assert re.fullmatch(DISTRIBUTION, told["project"]["name"])
    ((offered, target),) = told["project"]["entry-points"]["vkml.backends"].items()
    module, attribute = target.split(":")
    assert offered == name and module.removesuffix(".backend").isidentifier()
    source = files[f"{module.replace('.', '/')}.py"]
    assert f'{attribute} = table_backend("{name}"' in source
    for place, text in files.items():
        assert not re.search(r"@[a-z]+@", place + text)
        if place.endswith(".py"):
            compile(text, place, "exec")


@pytest.mark.parametrize(
    "name",
    ["", "A", "1a", "-a", "a-", "a--b", "a b", "a/b", "../a", "a.b", "ä", "a\n", 'a"', "a:1"],
)
def test_a_bad_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="cannot name a backend; expected lower-case"):
        create(tmp_path / "new", name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("what", ["folder", "file", "link"])
def test_what_exists_is_left_alone(what: str, tmp_path: Path) -> None:
    there = tmp_path / "there"
    if what == "link":
        there.symlink_to(tmp_path / "nowhere")
    elif what == "file":
        there.write_text("mine")
    else:
        there.mkdir()
    with pytest.raises(WriteError, match="exists; name a folder that does not exist"):
        create(there, "x")
    assert list(tmp_path.iterdir()) == [there]
    assert what != "file" or there.read_text() == "mine"


@pytest.mark.parametrize("place", ["missing/new", "n" * 400, "file/new"])
def test_where_nothing_can_be_written(place: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="cannot be written"):
        create(tmp_path / place, "x")
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write, written = Path.write_text, []

    def fills(self: Path, *arguments: str, **more: str) -> int:
        written.append(self)
        if len(written) == 3:
            raise OSError(28, "No space left on device")
        return write(self, *arguments, **more)

    monkeypatch.setattr(new_backend.Path, "write_text", fills)
    with pytest.raises(WriteError, match="No space left on device"):
        create(tmp_path / "new", "x")
    assert len(written) == 3 and not list(tmp_path.iterdir())


def test_the_template_names_this_contract() -> None:
    (found,) = re.findall(r"api_version=\((\d+), (\d+)\)", there(EXAMPLE)[
        "vkml_backend_template/backend.py"])  # fmt: skip
    major, minor = map(int, found)
    assert major == API_VERSION[0] and minor <= API_VERSION[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("new",), "--name"),
        (("--name", "x"), "DIR"),
        (("new", "--name", "cpu"), "'cpu' is the name of a backend that is installed (vkml)"),
        (("new", "--name", "My GPU"), "'My GPU' cannot name a backend"),
        (("old", "--name", "x"), "old exists"),
    ],
)
def test_the_command_refuses(arguments: tuple[str, ...], said: str, tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    command = [sys.executable, "-m", "vkml_conformance.cli", "new-backend", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 2 and said in " ".join(done.stderr.split()), done.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "old"]


@pytest.mark.parametrize("folder", ["with spaces & more", "$HOME", "é"])
def test_what_is_told_to_do_next_can_be_pasted(folder: str, tmp_path: Path) -> None:
    with chdir(tmp_path):
        done = CliRunner().invoke(main, ["new-backend", "--name", "class", "--", f"./{folder}"])
    assert done.exit_code == 0, done.output
    (line,) = (line for line in done.output.splitlines() if "pip install" in line)
    told = Path(shlex.split(line)[-1])
    assert (tmp_path / told / "vkml_backend_class" / "backend.py").is_file()


def test_the_shell_blocks_about_authoring_are_commands() -> None:
    """Those that the page does not run from Python: their options are there."""
    page = (ROOT / "docs" / "authoring-a-backend.md").read_text()
    lines = "".join(re.findall(r"^```sh\n(.*?)^```", page, re.M | re.S)).splitlines()
    ours = [words[1:] for words in map(shlex.split, lines) if words[0] == "vkml-conformance"]
    assert {name for name, *_ in ours} == {"new-backend", "run", "verify"}
    for name, *arguments in ours:
        assert main.commands[name].make_context(name, arguments).params

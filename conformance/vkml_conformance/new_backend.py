"""Writes a new backend: a project of its own that works, with tests, a workflow and a README.

The files are templates in `new_backend_files`; `examples/backend_template` is what comes of them
for the name `template`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Final

from vkml_conformance.atomic import WriteError, whole
from vkml_core.errors import ArgumentError

FILES: Final = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    ".gitignore": "gitignore.txt",
    ".github/workflows/test.yml": "workflow.yml.txt",
    "@package@/__init__.py": "package.py.txt",
    "@package@/backend.py": "backend.py.txt",
    "tests/test_conformance.py": "test_conformance.py.txt",
    "tests/test_training.py": "test_training.py.txt",
}
"""Where each template goes."""
_NAME: Final = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")


def project(name: str) -> dict[str, str]:
    """Give the files of a new backend, by their place in its folder. Raises ArgumentError."""
    if not _NAME.fullmatch(name):
        raise ArgumentError(
            f"new-backend: {name!r} cannot name a backend; expected lower-case letters and digits, "
            "a letter first, with single '-' or '_' between them, such as 'my-gpu'"
        )
    words = {
        "@name@": name,
        "@package@": f"vkml_backend_{name.replace('-', '_')}",
        "@distribution@": f"vkml-backend-{name.replace('_', '-')}",
    }
    templates = resources.files("vkml_conformance") / "new_backend_files"
    return {
        _filled(place, words): _filled((templates / file).read_text("utf-8"), words)
        for place, file in FILES.items()
    }


def _filled(text: str, words: Mapping[str, str]) -> str:
    for word, value in words.items():
        text = text.replace(word, value)
    return text


def create(folder: str | os.PathLike[str], name: str) -> list[str]:
    """Write a new backend into a folder that does not exist yet; give its files.

    The folder appears whole or not at all. Raises ArgumentError for a name that does not do,
    WriteError where the folder exists or cannot be written.
    """
    files, target = project(name), Path(folder).absolute()
    if os.path.lexists(target):
        raise WriteError(f"new-backend: {folder} exists; name a folder that does not exist yet")
    expected = "a new folder in one that exists and that you may write to"
    with whole(target, expected) as draft:
        _write(draft, files)
    return list(files)


def _write(folder: Path, files: Mapping[str, str]) -> None:
    folder.mkdir()
    for place, text in files.items():
        path = folder / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="\n")

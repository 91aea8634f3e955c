"""What the API reference needs besides the source: functions made at import time, doctests shown.

An extension of Griffe, which reads the source without running it. The public table makes functions
of rows and of methods; those are described as they are when `vkml` has been imported.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import griffe

MADE: Final = ("vkml", "vkml_nn.functional")
"""Modules with functions that their source does not spell out."""
DOCTEST: Final = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.M | re.S)

PAGE: Final = re.compile(r"`?docs/([\w-]+)\.md`?")


def fenced(text: str) -> str:
    """Put doctests into blocks of code, which Markdown would take for quotations."""
    return DOCTEST.sub(lambda found: f"```pycon\n{found[0]}\n```", text)


def linked(text: str) -> str:
    """Have names of pages lead there; the pages of the reference lie in folders of docs/."""
    return PAGE.sub(r"[\1](../\1.md)", text)


def source(name: str, function: Callable[..., Any]) -> str:
    """Spell out a function that was made at import time, without its body."""
    return f"def {name}{inspect.signature(function)}:\n    {inspect.getdoc(function)!r}\n"


def made(module: str) -> Iterator[tuple[str, griffe.Object | griffe.Alias]]:
    """Give the public functions of a module as they are when it has been imported."""
    loaded = import_module(module)
    for name in loaded.__all__:
        value = getattr(loaded, name)
        if inspect.isroutine(value):
            code = source(name, value)
            yield name, griffe.visit(module, filepath=Path(f"{name}.py"), code=code)[name]


class Reference(griffe.Extension):
    """Completes packages once they are loaded."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Add what is made at import time."""
        for module in MADE:
            if module.partition(".")[0] == pkg.path:
                target = pkg[module.partition(".")[2]] if "." in module else pkg
                for name, function in made(module):
                    target.set_member(name, function)

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        """Show doctests as code and names of pages as links."""
        if obj.docstring:
            obj.docstring.value = linked(fenced(obj.docstring.value))

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

MADE: Final = ("vkml", "vkml_core.plugins", "vkml_nn.functional")
"""Modules with functions that their source does not spell out."""
DOCTEST: Final = re.compile(r"^>>> .*?(?=\n\n|\Z)", re.M | re.S)

PAGE: Final = re.compile(r"`?docs/([\w-]+)\.md`?")

BARE: Final = {"Enum": "value", "NamedTuple": "annotation"}
"""Classes whose members often need no docstring, and what is told of a member instead."""


def fenced(text: str) -> str:
    """Put doctests into blocks of code, which Markdown would take for quotations."""
    return DOCTEST.sub(lambda found: f"```pycon\n{found[0]}\n```", text)


def linked(text: str) -> str:
    """Have names of pages lead there; the pages of the reference lie in folders of docs/."""
    return PAGE.sub(r"[\1](../\1.md)", text)


def members(obj: griffe.Object) -> str:
    """List the members without a docstring of an enumeration or a named tuple."""
    told = [BARE[str(b)] for b in getattr(obj, "bases", ()) if str(b) in BARE]
    bare = [a for a in obj.attributes.values() if not a.docstring and not a.name.startswith("_")]
    return "".join(f"\n* `{a.name}`: `{getattr(a, told[0])}`" for a in bare if told)


def source(name: str, function: Callable[..., Any]) -> str:
    """Spell out a function that was made at import time, without its body."""
    return f"def {name}{inspect.signature(function)}:\n    {inspect.getdoc(function)!r}\n"


def made(module: str) -> Iterator[tuple[str, griffe.Object | griffe.Alias]]:
    """Give the public functions of a module as they are when it has been imported."""
    loaded = import_module(module)
    for name in getattr(loaded, "__all__", [n for n in dir(loaded) if not n.startswith("_")]):
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
        """Show doctests as code, names of pages as links, and members that need no docstring."""
        if obj.docstring:
            bare = members(obj) if obj.is_class else ""
            text = linked(fenced(obj.docstring.value))
            obj.docstring.value = f"{text}\n{bare}" if bare else text

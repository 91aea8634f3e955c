"""The public table: every function that users see, and which of them are also Tensor methods.

`vkml` re-exports it, `vkml_core.methods` makes methods of it, docs and tests walk over it.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, ParamSpec, TypeVar

from vkml_core.errors import ArgumentTypeError

P = ParamSpec("P")
R = TypeVar("R")

ALIASES: Final = {"dim": "axis", "axis": "dim"}
"""PyTorch says dim, NumPy says axis: every function takes both."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One public function; `method` tells whether tensors have it too."""

    name: str
    function: Callable[..., Any]
    method: bool
    family: str


PUBLIC: Final[dict[str, Entry]] = {}


def public(method: bool = True, name: str = "") -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register a function under its own (or the given) name."""

    def register(function: Callable[P, R]) -> Callable[P, R]:
        shown = name or function.__name__.rstrip("_")
        family = function.__module__.rpartition(".")[2]
        known = frozenset(inspect.signature(function).parameters)
        rename = {a: b for a, b in ALIASES.items() if b in known and a not in known}
        wrapped = _with_aliases(function, shown, rename) if rename else function
        if shown in PUBLIC:
            raise ArgumentTypeError(f"public: {shown} is registered twice")
        PUBLIC[shown] = Entry(shown, wrapped, method, family)
        return wrapped

    return register


def _with_aliases(function: Callable[P, R], shown: str, rename: dict[str, str]) -> Callable[P, R]:
    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for alias, real in rename.items():
            if alias in kwargs:
                if real in kwargs:
                    raise ArgumentTypeError(f"{shown}: got both {alias} and {real}")
                kwargs[real] = kwargs.pop(alias)
        return function(*args, **kwargs)

    return call

"""The options of an optimiser: which there are, what each takes, and which PyTorch has besides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from vkml_core.errors import ArgumentError
from vkml_optim.checks import Check, flag, non_negative, only

REQUIRED: Final = object()
"""Stands for: an option that has to be given."""
OPTIONAL: Final[Mapping[str, Check]] = {"initial_lr": non_negative}
"""What a group may have besides, if something puts it there (a schedule)."""
DROPPED: Final = frozenset({"param_names"})
"""What PyTorch may write into a group and vkml has no use for."""


@dataclass(frozen=True)
class Option:
    """An option: its check, and what it means where a state or a caller leaves it out."""

    check: Check
    default: Any = REQUIRED


def absent(neutral: float | bool | None) -> Option:
    """Declare an option of PyTorch that vkml does not have; groups show its neutral value."""
    return Option(only(neutral), neutral)


MAXIMIZE: Final = Option(flag, False)
FOREACH: Final = absent(None)
DIFFERENTIABLE: Final = absent(False)
CAPTURABLE: Final = absent(False)
FUSED: Final = absent(None)


def checked(table: Mapping[str, Option], given: Mapping[str, Any], what: str) -> dict[str, Any]:
    """Give all options in the table's order, checked and as plain Python values."""
    unknown = [k for k in given if k not in table and k not in OPTIONAL]
    if unknown:
        raise ArgumentError(f"{what}: has no option {unknown[0]!r}")
    values = {k: given.get(k, option.default) for k, option in table.items()}
    missing = [k for k, v in values.items() if v is REQUIRED]
    if missing:
        raise ArgumentError(f"{what}: lacks the option {missing[0]!r}")
    found = {k: option.check(values[k], f"{what}: {k}") for k, option in table.items()}
    extra = {k: check(given[k], f"{what}: {k}") for k, check in OPTIONAL.items() if k in given}
    return found | extra

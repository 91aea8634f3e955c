"""Checks of options; each takes a value and what to call it, and gives the value to keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vkml_core.errors import ArgumentError, ArgumentTypeError
from vkml_core.functional.common import bool_arg, number_arg
from vkml_core.shapes import to_int

Check = Callable[[object, str], Any]


def non_negative(value: object, what: str) -> float:
    """Check that an option is a number ≥ 0."""
    number = number_arg(value, what)
    if not number >= 0.0:
        raise ArgumentError(f"{what}: expected a number ≥ 0, got {number}")
    return number


def fraction(value: object, what: str) -> float:
    """Check that an option is a number from 0 to 1."""
    number = number_arg(value, what)
    if not 0.0 <= number <= 1.0:
        raise ArgumentError(f"{what}: expected a number from 0 to 1, got {number}")
    return number


def positive_fraction(value: object, what: str) -> float:
    """Check that an option is a number from 0 to 1, and not 0."""
    number = number_arg(value, what)
    if not 0.0 < number <= 1.0:
        raise ArgumentError(f"{what}: expected 0 < number ≤ 1, got {number}")
    return number


def two_betas(value: object, what: str) -> tuple[float, float]:
    """Check that an option is a pair of numbers ≥ 0 and < 1."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ArgumentTypeError(f"{what}: expected two numbers, got {value!r}")
    pair = number_arg(value[0], f"{what}[0]"), number_arg(value[1], f"{what}[1]")
    for i, number in enumerate(pair):
        if not 0.0 <= number < 1.0:
            raise ArgumentError(f"{what}[{i}]: expected 0 ≤ number < 1, got {number}")
    return pair


def at_least(least: int) -> Check:
    """Make the check that an option is an int ≥ `least`."""

    def check(value: object, what: str) -> int:
        number = to_int(value, what)
        if number < least:
            raise ArgumentError(f"{what}: expected an int ≥ {least}, got {number}")
        return number

    return check


def only(neutral: float | bool | None) -> Check:
    """Make the check of an option that vkml does not have: it takes only "unused"."""

    def check(value: object, what: str) -> float | bool | None:
        plain = value is None or isinstance(value, bool | int | float)
        if not plain or value not in ((neutral,) if neutral else (None, 0)):
            raise ArgumentError(f"{what}: not in vkml: expected {neutral!r}, got {value!r}")
        return neutral

    return check


def instance(value: object, kind: type, what: str) -> Any:
    """Check that an argument is of a class."""
    if isinstance(value, kind):
        return value
    raise ArgumentTypeError(f"{what}: expected {kind.__name__}, got {type(value).__name__}")


flag: Check = bool_arg

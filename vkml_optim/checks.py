"""Checks of an optimiser's options."""

from __future__ import annotations

from vkml_core.errors import ArgumentError
from vkml_core.functional.common import number_arg


def non_negative(value: object, what: str) -> float:
    """Check that an option is a number ≥ 0."""
    number = number_arg(value, what)
    if not number >= 0.0:
        raise ArgumentError(f"{what}: expected a number ≥ 0, got {number}")
    return number

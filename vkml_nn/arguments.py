"""Checks of the sizes and numbers that layers are made with."""

from __future__ import annotations

from vkml_core.errors import ArgumentError, ShapeError
from vkml_core.functional.common import number_arg
from vkml_core.shapes import Shape, to_int, to_ints


def count_arg(value: object, what: str) -> int:
    """Check that a number of features, channels or groups is at least 1."""
    n = to_int(value, what)
    if n < 1:
        raise ArgumentError(f"{what}: expected at least 1, got {n}")
    return n


def counts_arg(value: object, what: str) -> Shape:
    """Read an int or several: at least one, each at least 1."""
    sizes = to_ints(value, what)
    if not sizes:
        raise ArgumentError(f"{what}: expected at least one size, got ()")
    return tuple(count_arg(n, what) for n in sizes)


def spread_arg(value: object, what: str, rank: int) -> tuple[int, ...]:
    """Read an int, or one for each of `rank` dimensions, and give one for each."""
    sizes = to_ints(value, what)
    if hasattr(value, "__index__"):
        return sizes * rank
    if len(sizes) != rank:
        raise ShapeError(f"{what}: expected an int or a sequence of {rank}, got {len(sizes)}")
    return sizes


def eps_arg(value: object, what: str) -> float:
    """Check that what keeps a root away from zero is a number ≥ 0."""
    eps = number_arg(value, what)
    if not eps >= 0.0:
        raise ArgumentError(f"{what}: expected a number ≥ 0, got {eps}")
    return eps


def row_arg(value: int | None, rows: int, what: str) -> int | None:
    """Check the number of a table's row, or None; a negative one counts from the end."""
    if value is None:
        return None
    row = to_int(value, what)
    if not -rows <= row < rows:
        raise ArgumentError(f"{what}: {row} is outside the {rows} rows of the table")
    return row % rows

"""Checks of what an optimiser is given to train."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vkml_core.errors import ArgumentError, ArgumentTypeError
from vkml_core.tensor import Tensor


def listed(params: object, what: str) -> list[Any]:
    """Make a list of the parameters, or of the groups, that an optimiser is made with."""
    if isinstance(params, Tensor):
        raise ArgumentTypeError(f"{what}: expected an iterable of parameters: [tensor]")
    if not isinstance(params, Iterable) or isinstance(params, str):
        got = type(params).__name__
        raise ArgumentTypeError(f"{what}: expected an iterable of parameters, got {got}")
    if isinstance(params, set | frozenset):
        raise ArgumentTypeError(f"{what}: a set of parameters has no fixed order; give a list")
    found = list(params)
    if not found:
        raise ArgumentError(f"{what}: the parameter list is empty")
    return found


def checked_params(params: object, known: set[int], what: str) -> list[Tensor]:
    """Check the parameters of a group; `known` are the ids of those in other groups."""
    found = listed([params] if isinstance(params, Tensor) else params, what)
    seen = set(known)
    for i, p in enumerate(found):
        if not isinstance(p, Tensor):
            got = type(p).__name__
            raise ArgumentTypeError(f"{what}: parameter {i}: expected a Tensor, got {got}")
        if not p.requires_grad:
            raise ArgumentError(f"{what}: parameter {i} does not require a gradient")
        if not p.is_leaf:
            raise ArgumentError(f"{what}: parameter {i} is not a leaf but a result")
        if id(p) in seen:
            raise ArgumentError(f"{what}: parameter {i} is there twice")
        seen.add(id(p))
    return found

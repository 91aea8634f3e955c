"""Case: one call of a public function, made with vkml and with PyTorch on the same values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

import vkml
from vkml_core.public import PUBLIC

from .support import EXACT, Tolerance, to_torch, to_vkml


@dataclass(frozen=True, eq=False)
class Case:
    """A call `name(*args, **kwargs)`, its counterpart in PyTorch, and how near they must be."""

    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    theirs: Callable[..., Any]
    tolerance: Tolerance
    grad: bool
    signs: bool

    def __str__(self) -> str:
        return "-".join([self.name, *map(_shown, self.args), *self._named()])

    def _named(self) -> list[str]:
        return [f"{k}={_shown(v)}" for k, v in self.kwargs.items()]

    def run(self, args: list[Any]) -> Any:
        """Call vkml's function."""
        return PUBLIC[self.name].function(*args, **_each(self.kwargs, to_vkml))

    def run_theirs(self, args: list[Any], real: torch.dtype | None = None) -> Any:
        """Call PyTorch's function."""
        return self.theirs(*args, **_each(self.kwargs, lambda v: to_torch(v, real)))


def _each(kwargs: dict[str, Any], convert: Callable[[Any], Any]) -> dict[str, Any]:
    return {k: convert(v) for k, v in kwargs.items()}


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype.name}{'x'.join(map(str, value.shape)) or '()'}"
    if isinstance(value, list | tuple):
        return f"({','.join(map(_shown, value))})"
    return str(value)


def case(
    name: str,
    *args: Any,
    theirs: Callable[..., Any] | None = None,
    tolerance: Tolerance = EXACT,
    grad: bool | None = None,
    signs: bool = True,
    **kwargs: Any,
) -> Case:
    """Make a case; PyTorch's function of the same name is taken if none is given."""
    if theirs is None:
        theirs = getattr(torch, name, None) or getattr(F, name)
    if grad is None:
        grad = any(_is_real(a) for a in args)
    return Case(name, args, kwargs, theirs, tolerance, grad, signs)


def _is_real(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_is_real, value))
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def leaves(value: Any) -> list[Any]:
    """List the floating-point tensors of some arguments, vkml's or PyTorch's."""
    if isinstance(value, list | tuple):
        return [leaf for v in value for leaf in leaves(v)]
    if isinstance(value, vkml.Tensor):
        return [value] if value.dtype.is_floating_point else []
    return [value] if isinstance(value, torch.Tensor) and value.is_floating_point() else []

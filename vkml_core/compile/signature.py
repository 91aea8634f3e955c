"""Arguments and results of a step: the tensors in them, and all the rest, by value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from enum import Enum
from typing import Any, Final

import numpy as np

from vkml_core.device import device
from vkml_core.dtypes import DType
from vkml_core.errors import ArgumentTypeError, CompileError
from vkml_core.tensor import Tensor

_PLAIN: Final = (type(None), bool, int, str, bytes, device, DType, type(...))
LEAF, HISTORY, GRADIENT = 1, 2, 3
"""What may be with a tensor that requires a gradient: nothing; a history; a gradient."""


def sign_all(
    args: Sequence[Any], kwargs: dict[str, Any], tensors: list[Tensor], key: list[Hashable]
) -> None:
    """Add the tensors in the arguments of a call, and what a step depends on besides their values.

    Raises ArgumentTypeError for what is neither a tensor nor a plain value.
    """
    for i, value in enumerate(args):
        if type(value) is Tensor:  # without the name that only errors need
            _sign_tensor(value, tensors, key)
        else:
            sign(value, tensors, key, f"argument {i}")
    for name, value in kwargs.items():
        key.append(name)
        sign(value, tensors, key, f"argument {name!r}")


def sign(value: Any, tensors: list[Tensor], key: list[Hashable], what: str = "argument") -> None:
    """Add what is in one argument as `sign_all` does for all."""
    if isinstance(value, Tensor):
        _sign_tensor(value, tensors, key)
    elif isinstance(value, tuple | list):
        key.append((type(value), len(value)))
        for i, v in enumerate(value):
            sign(v, tensors, key, f"{what}[{i}]")
    elif isinstance(value, dict):
        key.append((dict, *((k, type(k)) for k in value)))
        for k, v in value.items():
            sign(v, tensors, key, f"{what}[{k!r}]")
    else:
        key.append((type(value), _by_value(value, what)))


def _sign_tensor(tensor: Tensor, tensors: list[Tensor], key: list[Hashable]) -> None:
    node = tensor.node
    flag = _flag(tensor) if node.requires_grad else 0
    tensors.append(tensor)
    key.append((node.shape, node.dtype, node.device, flag))


def _flag(tensor: Tensor) -> int:
    if tensor.node.owner is None:
        return HISTORY
    return LEAF if tensor._grad is None else GRADIENT


def _by_value(value: Any, what: str) -> Hashable:
    if isinstance(value, float | complex):
        return repr(value)  # tells 0.0 from -0.0, and NaN is NaN
    if isinstance(value, np.generic):
        return value.dtype.str, value.tobytes()
    if type(value) in _PLAIN or isinstance(value, Enum):
        known: Hashable = value
        return known
    advice = "let the step use it from outside, such as a model or an optimizer"
    if isinstance(value, np.ndarray):
        advice = "make a tensor of it with vkml.tensor(array)"
    raise ArgumentTypeError(
        f"compile: {what} is a {type(value).__name__}; a compiled step takes tensors, numbers, "
        f"strings and None, in tuples, lists and dicts: {advice}"
    )


def rebuild(value: Any, tensors: Iterator[Tensor]) -> Any:
    """Give an argument with other tensors in their places."""
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, tuple | list):
        parts = [rebuild(v, tensors) for v in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {k: rebuild(v, tensors) for k, v in value.items()}
    return value


Packer = Callable[[Sequence[Tensor]], Any]
"""Gives the result of a step of the tensors in it."""


def packer(value: Any, tensors: list[Tensor], what: str = "the result") -> Packer:
    """Add the tensors in a result; give how to make the like of other tensors.

    Raises CompileError for what a later call could not give.
    """
    if value is None:
        return lambda made: None
    if isinstance(value, Tensor):
        i = len(tensors)
        tensors.append(value)
        return lambda made: made[i]
    if isinstance(value, tuple | list):
        kind, named = type(value), hasattr(value, "_fields")
        parts = [packer(v, tensors, f"{what}[{k}]") for k, v in enumerate(value)]
        if named:
            return lambda made: kind(*[p(made) for p in parts])
        return lambda made: kind([p(made) for p in parts])
    if isinstance(value, dict):
        items = {k: packer(v, tensors, f"{what}[{k!r}]") for k, v in value.items()}
        return lambda made: {k: p(made) for k, p in items.items()}
    raise CompileError(
        f"compile: {what} is a {type(value).__name__}; a compiled step gives tensors or None, in "
        "tuples, lists and dicts: Python values would be those of the first call for ever"
    )

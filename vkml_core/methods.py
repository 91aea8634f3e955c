"""Gives Tensor its operators, methods and in-place forms, all from the public table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from vkml_core import graph
from vkml_core.errors import ArgumentTypeError
from vkml_core.functional import (
    conv,
    creation,
    elementwise,
    execution,
    indexing,
    joining,
    linalg,
    losses,
    normal,
    random,
    reduce,
    shape,
)
from vkml_core.functional.common import NUMBER_TYPES
from vkml_core.public import PUBLIC
from vkml_core.tensor import Tensor

MODULES: Final = (
    creation,
    random,
    elementwise,
    reduce,
    shape,
    joining,
    indexing,
    linalg,
    conv,
    normal,
    losses,
    execution,
)
BINARY: Final = {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "pow",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
}
MATRIX: Final = {"matmul": "matmul"}
COMPARE: Final = {
    "lt": "less",
    "le": "less_equal",
    "gt": "greater",
    "ge": "greater_equal",
    "eq": "equal",
    "ne": "not_equal",
}
OPERANDS: Final = (Tensor, *NUMBER_TYPES)
UNARY: Final = {"neg": "neg", "abs": "abs", "invert": "bitwise_not"}
IN_PLACE: Final = ("add", "sub", "mul", "truediv")


def _takes(other: object) -> bool:
    """Whether an operator takes `other`; an array is refused here, with advice."""
    if isinstance(other, np.ndarray):
        raise ArgumentTypeError(
            "operator: got a NumPy array next to a Tensor; make a tensor of it with "
            "vkml.tensor(array), or an array of the tensor with .numpy()"
        )
    return isinstance(other, OPERANDS)


def _operator(function: Callable[..., Any], swap: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Tensor, other: object) -> Any:
        if not _takes(other):
            return NotImplemented
        return function(other, self) if swap else function(self, other)

    return method


def _in_place(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    def method(self: Tensor, other: object) -> Any:
        if not _takes(other):
            return NotImplemented
        if self.node.requires_grad and (graph.grad_enabled() or self.node.owner is None):
            return function(self, other)  # x += y on a differentiable tensor is x = x + y
        return self.assign_(function(self, other))

    return method


def install() -> None:
    """Set the methods; run once, when this module is imported."""
    for entry in PUBLIC.values():
        if entry.method and not hasattr(Tensor, entry.name):
            setattr(Tensor, entry.name, entry.function)
    for table in (BINARY, MATRIX, COMPARE):
        for dunder, name in table.items():
            setattr(Tensor, f"__{dunder}__", _operator(PUBLIC[name].function))
    for dunder, name in (BINARY | MATRIX).items():
        setattr(Tensor, f"__r{dunder}__", _operator(PUBLIC[name].function, swap=True))
    for dunder in IN_PLACE:
        setattr(Tensor, f"__i{dunder}__", _in_place(PUBLIC[BINARY[dunder]].function))
    for dunder, name in UNARY.items():
        function = PUBLIC[name].function
        setattr(Tensor, f"__{dunder}__", lambda self, _f=function: _f(self))
    setattr(Tensor, "__getitem__", PUBLIC["getitem"].function)  # noqa: B010


install()

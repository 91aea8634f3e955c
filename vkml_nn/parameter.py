"""Parameter: the tensors of a module that are trained."""

from __future__ import annotations

from typing import Any

from vkml_core.functional.common import tensor_arg
from vkml_core.tensor import Tensor


class Parameter(Tensor):
    """A leaf tensor that a `Module` finds when it is assigned to an attribute.

    It starts from the value of `data`, computed here if it was not yet, and is independent of it.

    >>> import vkml
    >>> Parameter(vkml.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()

    def __init__(self, data: Tensor, requires_grad: bool = True) -> None:
        value = tensor_arg(data, "Parameter: data").realize()
        super().__init__(value.node)
        self.adopt(value.node, False)
        self.requires_grad_(requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        copy = memo[id(self)] = Parameter(self, self.requires_grad)
        return copy

    def __repr__(self) -> str:
        return f"Parameter containing:\n{super().__repr__()}"

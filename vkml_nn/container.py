"""Sequential: modules called one after another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self, overload

from vkml_core.errors import IndexError_
from vkml_core.shapes import to_int
from vkml_nn.module import Module


class Sequential(Module):
    """Call modules one after another; they are named by position, or as in a dict.

    >>> from vkml import nn
    >>> nn.Sequential(nn.Linear(4, 2), nn.ReLU())
    Sequential(
      (0): Linear(in_features=4, out_features=2, bias=True)
      (1): ReLU()
    )
    """

    def __init__(self, *modules: Module | Mapping[str, Module]) -> None:
        super().__init__()
        if len(modules) == 1 and isinstance(modules[0], Mapping):
            named: Mapping[str, Any] = modules[0]
        else:
            named = {str(i): module for i, module in enumerate(modules)}
        for name, module in named.items():
            self.register_module(name, module)

    def forward(self, input: Any) -> Any:
        """Pass the input through all modules."""
        for module in self:
            input = module(input)
        return input

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.register_module(str(len(self)), module)
        return self

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return (module for module in self._modules.values() if module is not None)

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Sequential: ...
    def __getitem__(self, index: int | slice) -> Module | Sequential:
        if isinstance(index, slice):
            return Sequential(dict(list(self.named_children())[index]))
        modules = list(self)
        at = to_int(index, "Sequential: index")
        if not -len(modules) <= at < len(modules):
            raise IndexError_(f"Sequential: index {at} is outside its {len(modules)} modules")
        return modules[at]

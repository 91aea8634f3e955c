"""Sequential and ModuleList: modules in order, named by position."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Self, overload

from vkml_core.errors import ArgumentTypeError, IndexError_
from vkml_core.shapes import to_int
from vkml_nn.module import Module


class Modules(Module):
    """What the containers share: they are changed and read as a list is."""

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.register_module(str(len(self)), module)
        return self

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add modules at the end; all are checked before any is added."""
        self._fill([*self._modules.values(), *self._checked(modules)], len(self))
        return self

    def insert(self, index: int, module: Module) -> None:
        """Put a module before the one at `index`."""
        at = to_int(index, f"{type(self).__name__}: index")
        if not -len(self) <= at <= len(self):
            raise self._outside(at)
        held: list[Any] = list(self._modules.values())
        held[at:at] = self._checked([module])
        self._fill(held, 0)

    def pop(self, index: int) -> Module:
        """Take the module at `index` out."""
        module: Module = self._at(index)
        del self[index]
        return module

    def _checked(self, modules: Any) -> list[Module]:
        name = type(self).__name__
        if not isinstance(modules, Iterable):
            raise ArgumentTypeError(f"{name}: expected modules, got {type(modules).__name__}")
        found = list(modules)
        for i, module in enumerate(found):
            if not isinstance(module, Module):
                got = type(module).__name__
                raise ArgumentTypeError(f"{name}: module {i}: expected a Module, got {got}")
        return found

    def _fill(self, modules: list[Module | None], kept: int) -> None:
        """Hold `modules`, the first `kept` under the names that they have."""
        names = [*list(self._modules)[:kept], *map(str, range(kept, len(modules)))]
        held = dict(zip(names, modules, strict=True))
        self._modules.clear()
        self._modules.update(held)

    def _outside(self, index: int) -> IndexError_:
        name = type(self).__name__
        return IndexError_(f"{name}: index {index} is outside its {len(self)} modules")

    def _key(self, index: int) -> str:
        """Give the name of the module at `index`."""
        at = to_int(index, f"{type(self).__name__}: index")
        if not -len(self) <= at < len(self):
            raise self._outside(at)
        return list(self._modules)[at]

    def _at(self, index: int) -> Any:
        return self._modules[self._key(index)]

    def __setitem__(self, index: int, module: Module) -> None:
        self.register_module(self._key(index), module)

    def __delitem__(self, index: int | slice) -> None:
        names = list(self._modules)
        for name in names[index] if isinstance(index, slice) else [self._key(index)]:
            del self._modules[name]
        self._fill(list(self._modules.values()), 0)

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return (module for module in self._modules.values() if module is not None)


class Sequential(Modules):
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

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> Sequential: ...
    def __getitem__(self, index: int | slice) -> Module | Sequential:
        if isinstance(index, slice):
            return Sequential(dict(list(self.named_children())[index]))
        return self._at(index)  # type: ignore[no-any-return]


class ModuleList(Modules):
    """Hold modules in a list, so that `parameters()` and the rest find them; it is not called.

    >>> from vkml import nn
    >>> nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
    ModuleList(
      (0-2): 3 x Linear(in_features=4, out_features=4, bias=True)
    )
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    @overload
    def __getitem__(self, index: int) -> Module: ...
    @overload
    def __getitem__(self, index: slice) -> ModuleList: ...
    def __getitem__(self, index: int | slice) -> Module | ModuleList:
        return ModuleList(list(self)[index]) if isinstance(index, slice) else self._at(index)

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(self).extend(other)

    def __repr__(self) -> str:
        """Show runs of modules with one repr once."""
        runs = itertools.groupby(enumerate(self), key=lambda item: repr(item[1]))
        lines = [_run([i for i, _ in items], shown) for shown, items in runs]
        inner = "".join(f"\n{line}".replace("\n", "\n  ") for line in lines)
        return f"{type(self).__name__}({inner}\n)" if lines else f"{type(self).__name__}()"


def _run(places: list[int], shown: str) -> str:
    first, count = places[0], len(places)
    return f"({first}): {shown}" if count == 1 else f"({first}-{places[-1]}): {count} x {shown}"

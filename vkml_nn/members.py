"""What a module is made of: parameters, buffers and child modules, registered by assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vkml_core.errors import ArgumentError, ArgumentTypeError, Error
from vkml_core.tensor import Tensor
from vkml_nn.parameter import Parameter
from vkml_nn.replay import CHANGES

if TYPE_CHECKING:
    from vkml_nn.module import Module


class AttributeError_(Error, AttributeError):
    """An attribute that a module does not have, or one set before Module.__init__()."""


class Members:
    """Keeps parameters, modules and buffers in tables of their own, by PyTorch's rules."""

    _parameters: dict[str, Parameter | None]
    _modules: dict[str, Module | None]
    _buffers: dict[str, Tensor | None]
    _transient: set[str]
    """Names of the buffers that are not part of the state."""

    def __init__(self) -> None:
        self.__dict__.update(_parameters={}, _modules={}, _buffers={}, _transient=set())

    def _tables(self) -> tuple[tuple[type, dict[str, Any]], ...]:
        """Pair each kind of member with its table."""
        if "_parameters" not in self.__dict__:
            name = type(self).__name__
            raise AttributeError_(f"{name}: call super().__init__() before anything else")
        return ((Parameter, self._parameters), (Members, self._modules), (Tensor, self._buffers))

    def _table_of(self, name: str) -> dict[str, Any] | None:
        return next((table for _, table in self._tables() if name in table), None)

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__dict__.get(name, CHANGES) is not value:
            CHANGES.note()
        known = self._table_of(name)
        if isinstance(value, Parameter | Members):
            kind = Parameter if isinstance(value, Parameter) else Members
            table = dict(self._tables())[kind]
            if known is not table:
                self._remove(name)
            table[name] = value
        elif known is None:
            object.__setattr__(self, name, value)
        elif value is None or (known is self._buffers and isinstance(value, Tensor)):
            known[name] = value
        else:
            raise ArgumentTypeError(
                f"{type(self).__name__}: {name} is registered and takes another of its kind or "
                f"None, not a {type(value).__name__}; delete it first"
            )

    def __getattr__(self, name: str) -> Any:
        table = self._table_of(name)
        if table is None:
            raise AttributeError_(f"{type(self).__name__}: has no attribute {name!r}")
        return table[name]

    def __delattr__(self, name: str) -> None:
        CHANGES.note()
        if self._table_of(name) is None:
            object.__delattr__(self, name)
        else:
            self._remove(name)

    def _remove(self, name: str) -> None:
        CHANGES.note()
        self.__dict__.pop(name, None)
        self._transient.discard(name)
        for _, table in self._tables():
            table.pop(name, None)

    def __dir__(self) -> list[str]:
        registered = {name for _, table in self._tables() for name in table}
        return sorted({*super().__dir__(), *registered})

    def _register(self, table: dict[str, Any], name: str, value: Any, kind: type) -> None:
        owner, wanted = type(self).__name__, "Module" if kind is Members else kind.__name__
        if not isinstance(name, str) or not name or "." in name:
            raise ArgumentError(f"{owner}: {name!r} is not a name: a non-empty str without dots")
        if name not in table and hasattr(self, name):
            raise ArgumentError(f"{owner}: attribute {name!r} already exists")
        if value is not None and not isinstance(value, kind):
            got = type(value).__name__
            raise ArgumentTypeError(f"{owner}: {name}: expected a {wanted} or None, got {got}")
        CHANGES.note()
        table[name] = value

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Add a parameter, or None for one that this module could have but does not."""
        self._register(self._parameters, name, param, Parameter)

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that is not trained; it is part of the state unless not persistent."""
        self._register(self._buffers, name, tensor, Tensor)
        (self._transient.discard if persistent else self._transient.add)(name)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a child."""
        self._register(self._modules, name, module, Members)

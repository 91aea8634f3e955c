"""What a compiled step depends on of modules: modes, options, members and hooks, when they change.

Every change of an attribute is counted, so that a step whose modules nobody touched is known to
hold by one comparison. What is changed inside a list or another object is not seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vkml_core.graph import Tracing

if TYPE_CHECKING:
    from vkml_nn.module import Module

_PLAIN: Final = (bool, int, float, str, bytes, tuple, type(None))
_COUNTED: Final = frozenset({"calls"})
"""Attributes that are live numbers of a step."""


class Changes:
    """Counts the changes of all modules."""

    count = 0

    def note(self) -> None:
        """Count one more."""
        self.count += 1


CHANGES: Final = Changes()


def visit(trace: Tracing, module: Module) -> None:
    """Let a step that is being compiled depend on a module."""
    guard: Any = trace.feed(Modules, Modules)
    guard.modules[id(module)] = module


class Modules:
    """The modules of one step, as a feed without numbers."""

    def __init__(self) -> None:
        self.modules: dict[int, Module] = {}
        self._seen = -1
        self._known: list[dict[str, Any]] = []

    def begin(self) -> None:
        """Remember how the modules are now."""
        self._known = [_members(m) for m in self.modules.values()]
        self._seen = CHANGES.count

    def holds(self) -> bool:
        """Whether the modules are as they were."""
        now = CHANGES.count
        if now == self._seen:
            return True
        modules = zip(self.modules.values(), self._known, strict=True)
        if all(_alike(_members(m), known) for m, known in modules):
            self._seen = now
            return True
        return False

    def take(self) -> bool:
        """There are no numbers."""
        return False

    def keep(self) -> None:
        """There is nothing to count."""

    def give_back(self) -> None:
        """There is nothing to take back."""


def _members(module: Module) -> dict[str, Any]:
    """Give all attributes of a module, and what its tables of members and hooks hold, by name."""
    found: dict[str, Any] = {}
    for name, value in vars(module).items():
        if name in ("_parameters", "_modules", "_buffers"):
            found |= {f"{name}.{k}": v for k, v in value.items()}
        elif name in ("_hooks", "_pre_hooks"):
            found |= {f"{name}.{id(k)}": v for k, v in vars(value)["_hooks"].items()}
        elif name not in _COUNTED:
            found[name] = value
    return found


def _alike(now: dict[str, Any], known: dict[str, Any]) -> bool:
    return now.keys() == known.keys() and all(_same(v, known[k]) for k, v in now.items())


def _same(a: object, b: object) -> bool:
    return a is b or (type(a) is type(b) and isinstance(a, _PLAIN) and repr(a) == repr(b))

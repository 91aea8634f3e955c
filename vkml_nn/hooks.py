"""Forward hooks: functions that a module calls around its forward()."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vkml_nn.replay import CHANGES

Hook = Callable[..., Any]


class Hooks:
    """Hooks in the order of registration; each can be removed through its handle."""

    def __init__(self) -> None:
        self._hooks: dict[RemovableHandle, Hook] = {}

    def add(self, hook: Hook) -> RemovableHandle:
        """Register a hook."""
        handle = RemovableHandle(self)
        self._hooks[handle] = hook
        CHANGES.note()
        return handle

    def discard(self, handle: RemovableHandle) -> None:
        """Forget the hook of a handle."""
        self._hooks.pop(handle, None)
        CHANGES.note()

    def fold(self, value: Any, call: Callable[[Hook, Any], Any]) -> Any:
        """Pass `value` from hook to hook; one that gives None leaves it as it is."""
        for hook in list(self._hooks.values()):
            result = call(hook, value)
            value = value if result is None else result
        return value


class RemovableHandle:
    """What registering a hook gives: `remove()` takes the hook away again."""

    def __init__(self, hooks: Hooks) -> None:
        self._owner = hooks

    def remove(self) -> None:
        """Take the hook away; doing so twice does nothing."""
        self._owner.discard(self)

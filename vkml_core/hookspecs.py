"""The pluggy hook by which an application offers backends of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, Final

import pluggy

from vkml_core.backend import Backend

PROJECT: Final = "vkml"
hookspec: Final = pluggy.HookspecMarker(PROJECT)
hookimpl: Final = pluggy.HookimplMarker(PROJECT)


@hookspec
def vkml_backends() -> Iterable[Backend]:  # type: ignore[empty-body]
    """Give the backends to register, each under its `NAME`."""


def offers(plugin: object) -> list[Any]:
    """Check a plug-in against the hook and call it: once, at the door.

    Raises pluggy.PluginValidationError where it implements an unknown hook or a wrong signature.
    """
    manager = pluggy.PluginManager(PROJECT)
    manager.add_hookspecs(sys.modules[__name__])
    manager.register(plugin)
    manager.check_pending()
    return [backend for group in manager.hook.vkml_backends() for backend in group]

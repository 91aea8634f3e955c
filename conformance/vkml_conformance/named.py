"""Backends that are not installed, named as `module:attribute`."""

from __future__ import annotations

from importlib import import_module
from operator import attrgetter
from typing import Any


def place_of(name: str) -> str | None:
    """Give `module:attribute` back where a name is one; `vulkan` and `vulkan:1` are none."""
    _, _, attribute = name.partition(":")
    return name if attribute and not attribute.isdecimal() else None


def load(place: str) -> Any:
    """Import the backend at `module:attribute`; raises whatever the import raises."""
    module, _, attribute = place.partition(":")
    return attrgetter(attribute)(import_module(module))

"""Modules that move elements: placing one tensor into another, for pad and cat.

A plain copy is the conversion of a dtype to itself.
"""

from __future__ import annotations

from typing import Final

from vkml_backend_vulkan.shaders.table import Module
from vkml_backend_vulkan.shaders.tables.elementwise import VALUE

MODULES: Final[dict[str, Module]] = {
    f"movement.place.{token}": Module(
        "place.comp", {"T": value, "LOAD": f"load_{token}", "STORE": f"store4_{token}"}
    )
    for token, value in VALUE.items()
}

"""What a kernel that has four elements at a time does before any of its workgroup returns."""

from __future__ import annotations

from collections.abc import Iterable

from vkml_backend_vulkan.link.linker import Body
from vkml_backend_vulkan.link.program import Apply
from vkml_backend_vulkan.shaders.tables.elementwise import EXPONENTIALS


def prepare(body: Body, calls: Iterable[Apply]) -> None:
    """Fill the table that the exponentials share."""
    if any(call.function.rsplit("_", 1)[0] in EXPONENTIALS for call in calls):
        body.call("prepare_powers")
    body.end()

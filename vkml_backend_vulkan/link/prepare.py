"""What a kernel that has four elements at a time does before any of its workgroup returns."""

from __future__ import annotations

from collections.abc import Iterable

from vkml_backend_vulkan.link.linker import Body
from vkml_backend_vulkan.link.program import Apply
from vkml_backend_vulkan.shaders.tables.elementwise import SHARED


def prepare(body: Body, calls: Iterable[Apply]) -> None:
    """Fill the tables that functions share."""
    for fill in fills(calls):
        body.call(fill)
    body.end()


def fills(calls: Iterable[Apply]) -> list[str]:
    """List what fills the tables that functions read."""
    ops = {call.op for call in calls}
    return [fill for fill, readers in SHARED.items() if ops & readers]

"""What a backend that merges steps may ask about a plan; the scheduler's own passes answer."""

from __future__ import annotations

from vkml_core.schedule.group import has_head
from vkml_core.schedule.hazards import Conflict, add_barriers, dependencies, hazards
from vkml_core.schedule.lower import is_whole
from vkml_core.schedule.memory import place
from vkml_core.schedule.reshape import reshaped
from vkml_core.schedule.state import reads_in_step

__all__ = [
    "Conflict",
    "add_barriers",
    "dependencies",
    "has_head",
    "hazards",
    "is_whole",
    "place",
    "reads_in_step",
    "reshaped",
]

"""Importing this module registers every row."""

import importlib
from typing import Final

FAMILIES: Final = (
    "elementwise",
    "reduce",
    "movement",
    "linalg",
    "conv",
    "pool",
    "indexing",
    "generate",
)

for _family in FAMILIES:
    importlib.import_module(f"vkml_core.ops.{_family}")

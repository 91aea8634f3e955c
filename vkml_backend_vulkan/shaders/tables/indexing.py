"""Modules of indices and of sorting."""

from __future__ import annotations

from itertools import product
from typing import Final

from vkml_backend_vulkan.shaders.table import Module

NUMBERS: Final = ("f32", "f16", "i32", "i64")
INDICES: Final = ("i32", "i64")


CHECKED: Final = {"": {}, ".checked": {"CHECKED": "1"}}
"""Endings of modules: indices are checked there, or elsewhere."""


def _defines(token: str, index: str) -> dict[str, str]:
    return {f"DTYPE_{token.upper()}": "1", f"INDEX_{index.upper()}": "1"}


MODULES: Final[dict[str, Module]] = {
    **{
        f"index.gather.{t}.{i}{known}": Module("gather.comp", _defines(t, i) | CHECKED[known])
        for t, i, known in product((*NUMBERS, "b8"), INDICES, CHECKED)
    },
    **{
        f"index.scatter_add.{t}.{i}": Module("scatter_add.comp", _defines(t, i))
        for t, i in product(NUMBERS, INDICES)
    },
    **{
        f"index.scatter_add.{t}.{i}.spans": Module(
            "scatter_add.comp", {**_defines(t, i), "SPANS": "1"}
        )
        for t, i in product(NUMBERS, INDICES)
    },
    **{
        f"index.mark.{i}{known}": Module("index_mark.comp", _defines(i, i) | CHECKED[known])
        for i, known in product(INDICES, CHECKED)
    },
    **{f"index.check.{i}": Module("index_check.comp", _defines(i, i)) for i in INDICES},
    "index.clear": Module("index_clear.comp"),
    **{f"sort.argsort.{t}": Module("argsort.comp", {f"DTYPE_{t.upper()}": "1"}) for t in NUMBERS},
    **{
        f"sort.merge.{t}": Module("argsort_merge.comp", {f"DTYPE_{t.upper()}": "1"})
        for t in NUMBERS
    },
}

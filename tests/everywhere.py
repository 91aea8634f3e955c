"""Runs a program on every device, lazily and eagerly, and compares the bits of what it gives."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

import numpy as np
import pytest

import vkml

_LAVAPIPE: Final = next(iter(sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))), None)
if "VK_DRIVER_FILES" not in os.environ and _LAVAPIPE:
    os.environ["VK_DRIVER_FILES"] = os.environ["VK_ICD_FILENAMES"] = str(_LAVAPIPE)

Results = Mapping[str, object] | Iterable[object]
Program = Callable[[str], Results]
"""Takes a device's name; gives tensors, arrays or numbers, perhaps by name."""


def devices() -> list[str]:
    """Name a device of each backend that works here; without a Vulkan device, skip the test."""
    try:
        vkml.device("vulkan").synchronize()
    except vkml.DeviceError as error:
        pytest.skip(f"no Vulkan device: {error}")
    return ["cpu", "vulkan"]


def _bits(results: Results) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    named = results.items() if isinstance(results, Mapping) else enumerate(results)
    found = {}
    for name, value in named:
        array = value.numpy() if isinstance(value, vkml.Tensor) else np.asarray(value)
        found[str(name)] = (array.dtype.name, array.shape, array.tobytes())
    return found


def same_everywhere(program: Program) -> None:
    """Fail unless `program` gives the same bits on every device, lazily and eagerly.

    `vkml.manual_seed(0)` is called before each run.
    """
    wanted: dict[str, tuple[str, tuple[int, ...], bytes]] | None = None
    for device in devices():
        for eager in (False, True):
            vkml.manual_seed(0)
            with vkml.eager_mode(eager):
                found = _bits(program(device))
            assert found, "the program gives nothing to compare"
            wanted = wanted or found
            assert found.keys() == wanted.keys()
            different = [name for name in wanted if found[name] != wanted[name]]
            assert not different, f"{device}, {'eager' if eager else 'lazy'}: {different} differ"

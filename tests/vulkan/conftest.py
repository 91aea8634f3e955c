"""Fixtures of the Vulkan tests: they run on lavapipe unless VK_DRIVER_FILES names a driver."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from vkml_backend_vulkan.device import VulkanDevice
    from vkml_backend_vulkan.instance import Physical

_LAVAPIPE = Path("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json")

if "VK_DRIVER_FILES" not in os.environ and _LAVAPIPE.exists():
    os.environ["VK_DRIVER_FILES"] = os.environ["VK_ICD_FILENAMES"] = str(_LAVAPIPE)


@pytest.fixture(scope="session")
def physical() -> Physical:
    """The best device of the driver under test."""
    from vkml_backend_vulkan.backend import backend
    from vkml_core.backend import Unavailable

    answer = backend.probe()
    if isinstance(answer, Unavailable):
        pytest.skip(f"no Vulkan device: {answer.reason}")
    from vkml_backend_vulkan.instance import usable

    return usable()[0]


@pytest.fixture(scope="session")
def device(physical: Physical, tmp_path_factory: pytest.TempPathFactory) -> Iterator[VulkanDevice]:
    """An opened device with the kernels that come with vkml."""
    from vkml_backend_vulkan.device import VulkanDevice
    from vkml_backend_vulkan.kernels import shipped

    opened = VulkanDevice(physical, shipped(), tmp_path_factory.mktemp("cache"))
    yield opened
    opened.close()

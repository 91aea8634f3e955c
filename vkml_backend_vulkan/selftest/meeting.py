"""The first meeting with a driver: tested then, remembered for every later one."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.instance import Physical
from vkml_backend_vulkan.pipeline import read_cache, write_cache
from vkml_backend_vulkan.selftest.child import judged
from vkml_backend_vulkan.selftest.verdict import Verdict

_FORGOTTEN = (
    "and at every start again, since {} cannot be written ({.strerror}): let XDG_CACHE_HOME name a "
    "folder that can"
)


def verdict_of(physical: Physical, directory: Path) -> Verdict:
    """Give the verdict kept in the directory, or run the self-test and keep it.

    Only a verdict is kept: a device that was refused is tested again. Raises DeviceError where
    the device is refused.
    """
    name = identity(physical)
    file = directory / f"{name}-{contents()}.selftest"
    with suppress(ValueError):
        kept = Verdict.from_json(read_cache(file).decode())
        return replace(kept, tested=f"{kept.tested}, remembered in {file}")
    found = judged(physical, name, directory)
    try:
        write_cache(file, found.to_json().encode())
    except OSError as error:
        return replace(found, tested=f"{found.tested}, {_FORGOTTEN.format(directory, error)}")
    return found


def identity(physical: Physical) -> str:
    """Name a device and its driver: device UUID, driver UUID, driver version."""
    v11 = vk.struct("VkPhysicalDeviceVulkan11Properties")
    properties = vk.struct("VkPhysicalDeviceProperties2", pNext=v11)
    vk.lib.vkGetPhysicalDeviceProperties2(physical.handle, properties)
    return f"{physical.uuid}-{bytes(v11.driverUUID).hex()}-{physical.driver_version:08x}"


@cache
def contents() -> str:
    """Hash what is tested and how: every module, by its manifest, and the self-test's sources."""
    package = files("vkml_backend_vulkan")
    digest = hashlib.sha256((package / "shaders" / "spirv" / "manifest.json").read_bytes())
    for file in sorted((package / "selftest").iterdir(), key=lambda f: f.name):
        if file.name.endswith(".py"):
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]

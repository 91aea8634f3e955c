"""What the program runs with: versions, settings, devices and decisions, as plain data."""

from __future__ import annotations

import platform
from collections import Counter
from typing import Any, Final

from vkml_core.backend import API_VERSION, Device
from vkml_core.decisions import decisions, decisions_published
from vkml_core.plugins import default_device, opened_devices
from vkml_core.runtime import cache_info, is_eager
from vkml_core.settings import settings

PACKAGES: Final = ("vkml", "numpy", "pydantic", "vulkan")


def configuration() -> dict[str, Any]:
    """Tell what decides how the program runs; all of it is what the module json can write.

    `devices` are those that are open: what the hardware is called, its level, and what the
    backend reports. `decisions` counts what `record_decisions` has kept, by who chose what.

    >>> import vkml
    >>> vkml.ones(2, device="cpu").sum().item()
    2.0
    >>> configuration()["devices"]["cpu"]["level"]
    'exact'
    """
    return {
        "versions": _versions(),
        "settings": settings().model_dump(),
        "eager": is_eager(),
        "default_device": default_device(),
        "devices": {name: _told(device) for name, device in opened_devices().items()},
        "plans": cache_info(),
        "decisions": _decisions(),
    }


def _versions() -> dict[str, str]:
    import importlib_metadata  # late: `vkml doctor` has to work where that package is broken

    found = {
        "python": platform.python_version(),
        "platform": platform.platform(),
        "backend API": ".".join(map(str, API_VERSION)),
    }
    for package in PACKAGES:
        try:
            found[package] = importlib_metadata.version(package)
        except importlib_metadata.PackageNotFoundError:
            found[package] = "not installed"
    return found


def _told(device: Device) -> dict[str, Any]:
    capabilities = device.capabilities()
    return {
        "name": device.name,
        "kind": device.kind,
        **capabilities.model_dump(exclude={"ops"}),
        "operations": len(capabilities.ops),
        "report": dict(device.report()),
    }


def _decisions() -> dict[str, Any]:
    chosen = Counter(f"{d.site}: {d.op}: {d.chose}" for d in decisions())
    return {"published": decisions_published(), "kept": dict(chosen.most_common())}

"""What a test leaves behind: objects of the driver are counted by `vk.live`."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import needs_vulkan  # noqa: F401

from vkml_backend_vulkan import vk
from vkml_core import plugins, runtime


def forget() -> None:
    """Let go of the devices that the core opened: those that nobody else holds are closed."""
    runtime.clear_cache()
    devices = plugins.DEVICES
    devices._opened = {n: d for n, d in devices._opened.items() if not n.startswith("vulkan")}
    gc.collect()


@contextmanager
def no_objects_left() -> Iterator[None]:
    """Inside, devices may be opened; afterwards the driver has as many objects as before."""
    forget()
    before = +vk.live
    yield
    gc.collect()
    assert +vk.live == before


@contextmanager
def offered() -> Iterator[None]:
    """Offer the backend where it is not installed; afterwards its devices are closed."""
    from vkml_backend_vulkan.backend import backend

    registered = "vulkan" not in plugins.DEVICES.backends.sources()
    if registered:
        plugins.register_backend(backend)
    try:
        yield
    finally:
        forget()
        if registered:
            plugins.unregister_backend("vulkan")

"""The Khronos validation layer for a whole process: switched on, and its messages in a file.

Core and synchronization validation, errors, warnings and hints about speed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

LAYER: Final = "VK_LAYER_KHRONOS_validation"
_LIBRARY: Final = "libVkLayer_khronos_validation"
_SETTINGS: Final = """\
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.log_filename = {log}
khronos_validation.report_flags = error,warn,perf
khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
"""


def installed() -> bool:
    """Whether the loader knows the layer."""
    try:
        from vkml_backend_vulkan import vk
    except (ImportError, OSError):
        return False
    listed = vk.enumerate_("vkEnumerateInstanceLayerProperties", "VkLayerProperties")
    return LAYER in {vk.string(layer.layerName) for layer in listed}


def loaded() -> bool:
    """Whether the layer's library is in this process (Linux tells)."""
    return _LIBRARY in Path("/proc/self/maps").read_text()


class Log:
    """What the layer has said so far, and how much of it was read."""

    def __init__(self, directory: Path) -> None:
        """Messages will go to a file in `directory`, where the layer's settings are too."""
        self.directory: Final = directory
        self._log: Final = directory / "messages.txt"
        self._read = 0
        settings = _SETTINGS.format(log=self._log)
        (directory / "vk_layer_settings.txt").write_text(settings)

    def environment(self) -> dict[str, str]:
        """Give the variables by which instances take the layer and these settings."""
        return {"VK_INSTANCE_LAYERS": LAYER, "VK_LAYER_SETTINGS_PATH": str(self.directory)}

    def switch_on(self) -> None:
        """Let every instance that this process creates from now on take the layer.

        The loader reads C's environment. Python's copy stays as it is, so that a test that gives
        a child an environment of its own decides about the child's layers itself.
        """
        for name, value in self.environment().items():
            os.putenv(name, value)

    def new(self) -> str:
        """Give what was said since the last call."""
        said = self._log.read_text(errors="replace") if self._log.exists() else ""
        fresh, self._read = said[self._read :], len(said)
        return fresh.strip()

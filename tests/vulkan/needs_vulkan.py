"""Skips the test module that imports it where Vulkan cannot even be loaded."""

import pytest

try:
    import vkml_backend_vulkan.vk  # noqa: F401
except (ImportError, OSError) as error:
    pytest.skip(f"Vulkan cannot be loaded: {error}", allow_module_level=True)

"""The layer over the binding: structs keep what they point to, failures become vkml's errors."""

from __future__ import annotations

import gc

import needs_vulkan  # noqa: F401
import pytest

from vkml_backend_vulkan import vk
from vkml_core.errors import DeviceError, DeviceLost, OutOfMemoryError


def test_nested_structs_and_strings_stay_alive() -> None:
    infos = [
        vk.struct(
            "VkComputePipelineCreateInfo",
            stage=vk.struct(
                "VkPipelineShaderStageCreateInfo",
                pName=vk.text(f"entry {i}"),
                pSpecializationInfo=vk.struct("VkSpecializationInfo", dataSize=i),
            ),
        )
        for i in range(1000)
    ]
    gc.collect()
    assert [vk.string(i.stage.pName) for i in infos] == [f"entry {i}" for i in range(1000)]
    assert [i.stage.pSpecializationInfo.dataSize for i in infos] == list(range(1000))


def test_arrays_of_structs_stay_alive() -> None:
    made = vk.array("VkSubmitInfo", [vk.struct("VkSubmitInfo", pNext=vk.text("a")) for _ in "abc"])
    gc.collect()
    assert {vk.string(vk.ffi.cast("char *", made[i].pNext)) for i in range(3)} == {"a"}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("VkBufferCreateInfo", "BUFFER_CREATE_INFO"),
        ("VkPhysicalDeviceVulkan12Features", "PHYSICAL_DEVICE_VULKAN_1_2_FEATURES"),
        ("VkPhysicalDeviceFeatures2", "PHYSICAL_DEVICE_FEATURES_2"),
        ("VkPhysicalDeviceIDProperties", "PHYSICAL_DEVICE_ID_PROPERTIES"),
    ],
)
def test_structure_types(kind: str, name: str) -> None:
    assert vk.struct(kind).sType == getattr(vk.lib, f"VK_STRUCTURE_TYPE_{name}")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("VK_ERROR_OUT_OF_HOST_MEMORY", OutOfMemoryError),
        ("VK_ERROR_OUT_OF_DEVICE_MEMORY", OutOfMemoryError),
        ("VK_ERROR_TOO_MANY_OBJECTS", OutOfMemoryError),
        ("VK_ERROR_DEVICE_LOST", DeviceLost),
        ("VK_ERROR_FEATURE_NOT_PRESENT", DeviceError),
        ("VK_ERROR_FRAGMENTED_POOL", DeviceError),
    ],
)
def test_failures_say_call_arguments_and_advice(code: str, error: type[Exception]) -> None:
    made = vk.failure("vkSomething", getattr(vk.lib, code), module="m", bytes="1,024")
    assert type(made) is error
    message = str(made)
    assert message.startswith(f"vulkan: vkSomething(module = m, bytes = 1,024) failed with {code};")
    assert len(message.split("; ")[1]) > 20


def test_unknown_results_are_told_by_number() -> None:
    assert "VkResult -12345;" in str(vk.failure("vkSomething", -12345))

"""Compute pipelines: modules by name, specialised, with the driver's cache kept on disk."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.dispatch import PUSH_BYTES
from vkml_backend_vulkan.instance import Physical
from vkml_backend_vulkan.spirv import with_float_controls
from vkml_core.errors import DeviceError

_DIGEST: Final = 32
Modules = Callable[[str], bytes]
Key = tuple[str, tuple[int, ...]]
"""A module and its constants."""


def shipped_module(name: str) -> bytes:
    """Read the SPIR-V of a module by its name. Raises DeviceError."""
    path = files("vkml_backend_vulkan") / "shaders" / "spirv" / f"{name}.spv"
    try:
        return path.read_bytes()
    except OSError as error:
        raise DeviceError(
            f"vulkan: no module is called {name!r} ({error}); install vkml again"
        ) from error


class Pipelines:
    """The pipelines of a device, made once for each module and its constants."""

    def __init__(self, device: Any, physical: Physical, modules: Modules, directory: Path) -> None:
        self._device = device
        self._floats = physical.floats
        self._modules = modules
        self._made: dict[Key, Any] = {}
        self._saved = 0
        self._file = directory / f"{physical.uuid}-{physical.driver_version:08x}.bin"
        self._main = vk.text("main")
        with ExitStack() as undo:
            self.layout = self._create_layout()
            undo.callback(vk.destroy, "vkDestroyPipelineLayout", device, self.layout)
            self._cache = self._create_cache(read_cache(self._file))
            undo.pop_all()

    def get(self, module: str, constants: tuple[int, ...]) -> Any:
        """Give the pipeline of a module with its specialisation constants 0, 1, 2, …"""
        key = (module, constants)
        if key not in self._made:
            self._made[key] = self._create(module, constants, self._code(module))
        return self._made[key]

    def prepare(self, wanted: Iterable[Key]) -> None:
        """Make the pipelines that are missing side by side: drivers take long for each."""
        missing = [key for key in dict.fromkeys(wanted) if key not in self._made]
        if len(missing) < 2:
            return
        codes = [self._code(module) for module, _ in missing]
        with ThreadPoolExecutor(min(len(missing), os.cpu_count() or 1)) as pool:
            made = [
                pool.submit(self._create, *key, code)
                for key, code in zip(missing, codes, strict=True)
            ]
        for key, each in zip(missing, made, strict=True):
            if each.exception() is None:  # kept, so that it is destroyed with the others
                self._made[key] = each.result()
        for each in made:
            each.result()

    def __len__(self) -> int:
        return len(self._made)

    def save(self) -> None:
        """Write the driver's cache to disk if pipelines were added; a full disk is no error."""
        if len(self._made) == self._saved:
            return
        self._saved = len(self._made)
        get, size = "vkGetPipelineCacheData", vk.ffi.new("size_t *")
        vk.call(get, self._device, self._cache, size, vk.NULL)
        data = vk.ffi.new("char[]", size[0])
        vk.call(get, self._device, self._cache, size, data)
        with suppress(OSError):
            write_cache(self._file, bytes(vk.ffi.buffer(data, size[0])))

    def destroy(self) -> None:
        """Destroy every pipeline."""
        for pipeline in self._made.values():
            vk.destroy("vkDestroyPipeline", self._device, pipeline)
        self._made.clear()
        vk.destroy("vkDestroyPipelineCache", self._device, self._cache)
        vk.destroy("vkDestroyPipelineLayout", self._device, self.layout)

    def _create_layout(self) -> Any:
        stage = vk.lib.VK_SHADER_STAGE_COMPUTE_BIT
        push = vk.struct("VkPushConstantRange", stageFlags=stage, offset=0, size=PUSH_BYTES)
        info = vk.struct(
            "VkPipelineLayoutCreateInfo", pushConstantRangeCount=1, pPushConstantRanges=push
        )
        return vk.create("vkCreatePipelineLayout", self._device, info, vk.NULL)

    def _create_cache(self, data: bytes) -> Any:
        kept = vk.ffi.from_buffer(data)
        info = vk.struct("VkPipelineCacheCreateInfo", initialDataSize=len(data), pInitialData=kept)
        return vk.create("vkCreatePipelineCache", self._device, info, vk.NULL)

    def _code(self, name: str) -> bytes:
        return with_float_controls(self._modules(name), self._floats)

    def _create(self, name: str, constants: tuple[int, ...], spirv: bytes) -> Any:
        code = vk.ffi.from_buffer("uint32_t[]", spirv)
        info = vk.struct("VkShaderModuleCreateInfo", codeSize=4 * len(code), pCode=code)
        module = vk.create("vkCreateShaderModule", self._device, info, vk.NULL, module=name)
        try:
            return self._create_pipeline(name, module, constants)
        finally:
            vk.destroy("vkDestroyShaderModule", self._device, module)

    def _create_pipeline(self, name: str, module: Any, constants: tuple[int, ...]) -> Any:
        stage = vk.struct(
            "VkPipelineShaderStageCreateInfo",
            stage=vk.lib.VK_SHADER_STAGE_COMPUTE_BIT,
            module=module,
            pName=self._main,
            pSpecializationInfo=_specialization(constants),
        )
        info = vk.struct("VkComputePipelineCreateInfo", stage=stage, layout=self.layout)
        arguments = self._device, self._cache, 1, info, vk.NULL
        said = {"module": name, "constants": constants}
        return vk.create("vkCreateComputePipelines", *arguments, **said)


def _specialization(constants: tuple[int, ...]) -> Any:
    entries = [
        vk.struct("VkSpecializationMapEntry", constantID=i, offset=4 * i, size=4)
        for i in range(len(constants))
    ]
    return vk.struct(
        "VkSpecializationInfo",
        mapEntryCount=len(entries),
        pMapEntries=vk.array("VkSpecializationMapEntry", entries),
        dataSize=4 * len(constants),
        pData=vk.array("uint32_t", constants),
    )


def cache_directory() -> Path:
    """Give the directory of the user's pipeline caches, by the system's convention.

    For a user without a home it is one that cannot be: nothing is found there, nothing kept.
    """
    local = os.environ.get("LOCALAPPDATA") if os.name == "nt" else os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(local or Path.home() / ".cache") / "vkml" / "vulkan"
    except RuntimeError:
        return Path(os.devnull) / "vkml" / "vulkan"


def read_cache(file: Path) -> bytes:
    """Read a cache that `write_cache` wrote; nothing if it is missing or damaged."""
    with suppress(OSError):
        data = file.read_bytes()
        if hashlib.sha256(data[_DIGEST:]).digest() == data[:_DIGEST]:
            return data[_DIGEST:]
    return b""


def write_cache(file: Path, data: bytes) -> None:
    """Replace the file in one move, so that no reader sees half of it. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=file.name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(hashlib.sha256(data).digest() + data)
        Path(name).replace(file)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise

"""A Vulkan device behind the `Device` contract of `vkml_core.backend`."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import numpy as np

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.block import LOCAL, MAPPED, choose_memory_type
from vkml_backend_vulkan.commands import VulkanExecutable
from vkml_backend_vulkan.free_ranges import ALIGNMENT
from vkml_backend_vulkan.instance import Physical
from vkml_backend_vulkan.kernels import Kernels
from vkml_backend_vulkan.memory import Buffer, Pool
from vkml_backend_vulkan.pipeline import Pipelines
from vkml_backend_vulkan.queue import Queue
from vkml_backend_vulkan.transfer import Transfer
from vkml_core.backend import Array, Capabilities, DeviceKind, Level
from vkml_core.dtypes import DType
from vkml_core.errors import Error, OutOfMemoryError
from vkml_core.plan import Plan
from vkml_core.shapes import Shape

_SHARED: Final[frozenset[DeviceKind]] = frozenset({"integrated-gpu", "software"})
"""Kinds whose memory is the host's: buffers are mapped and copied directly."""


class VulkanDevice:
    """One logical device with one compute queue. Threads take turns."""

    def __init__(
        self, physical: Physical, kernels: Kernels, cache: Path, *, mapped: bool | None = None
    ) -> None:
        """Open `physical`; pipelines are cached in the directory `cache`.

        `mapped` tells whether the host reaches device memory directly; by default it does where
        both are the same memory. Raises DeviceError, OutOfMemoryError.
        """
        self.physical: Final = physical
        self.kernels: Final = kernels
        self.name: Final = physical.name
        self.kind: Final = physical.kind
        self.lock: Final = threading.RLock()
        self.dispatches = 0
        direct = physical.kind in _SHARED if mapped is None else mapped
        self._handle = _create(physical)
        self.queue: Final = Queue(self._handle, physical.queue_family)
        self.memory: Final = self._pool(MAPPED | LOCAL if direct else LOCAL, mapped=direct)
        self.host: Final = self.memory if direct else self._pool(MAPPED, mapped=True)
        self.transfer: Final = Transfer(self.queue, self.memory, self.host)
        self.pipelines: Final = Pipelines(self._handle, physical, kernels.modules, cache)
        self._workspace: Buffer | None = None
        self._capabilities = Capabilities(
            level=_level(physical),
            ops=kernels.ops,
            alignment=ALIGNMENT,
            max_allocation=physical.max_allocation,
        )
        parts = (self.queue, self.pipelines, {id(p): p for p in (self.memory, self.host)})
        self._finalizer = weakref.finalize(self, _close, self._handle, *parts)

    def capabilities(self) -> Capabilities:
        """Tell what it can do."""
        return self._capabilities

    def upload(self, array: Array) -> Buffer:
        """Copy an array into a new buffer. Raises OutOfMemoryError."""
        with self.lock:
            return self.transfer.upload(array)

    def download(self, buffer: Buffer, shape: Shape, dtype: DType) -> Array:
        """Copy a buffer into a new array; waits for the submission that writes it."""
        array = np.empty(shape, dtype.numpy)
        with self.lock:
            self.transfer.download(buffer, array)
        return array

    def compile(self, plan: Plan) -> VulkanExecutable:
        """Lower a plan and make its pipelines. Raises UnsupportedOpError."""
        with self.lock:
            return VulkanExecutable(self, plan)

    def synchronize(self) -> None:
        """Wait until everything submitted, and every upload, has finished."""
        with self.lock:
            self.transfer.flush()
            self.queue.finish()

    def workspace(self, nbytes: int) -> Buffer:
        """Give the memory that plans share, since submissions run one after the other."""
        if self._workspace is None or self._workspace.nbytes < nbytes:
            self._workspace = None
            self._workspace = self.memory.allocate(nbytes)
        return self._workspace

    def stats(self) -> Mapping[str, float]:
        """Count bytes, buffers, submissions, dispatches, pipelines and bytes of host memory."""
        with self.lock:
            self.queue.poll()
            return {
                **self.memory.stats(),
                "submissions": self.queue.submitted,
                "dispatches": self.dispatches,
                "pipelines": len(self.pipelines),
                "staging_bytes": 0 if self.host is self.memory else self.host.reserved,
            }

    def report(self) -> Mapping[str, str]:
        """Describe driver, memory, float controls, level and what is missing."""
        p = self.physical
        modes = {
            "RoundingModeRTE": p.floats.rounding_rte,
            "SignedZeroInfNanPreserve": p.floats.signed_zero_inf_nan,
            "DenormPreserve": p.floats.denorm_preserve,
        }
        return {
            "driver": p.driver,
            "vulkan": ".".join(map(str, p.api_version)),
            "memory": "mapped" if self.memory.mapped else "staged",
            "float controls": ", ".join(m for m, has in modes.items() if has) or "none",
            "missing": ", ".join(m for m, has in modes.items() if not has) or "nothing",
            "workgroup": f"{p.limits.invocations} invocations, {p.limits.shared:,} shared bytes",
            "level": self._capabilities.level,
            "operations": str(len(self.kernels.ops)),
        }

    def close(self) -> None:
        """Wait, save the pipeline cache and destroy everything; also done when the process ends."""
        self._finalizer()

    def _pool(self, flags: int, *, mapped: bool) -> Pool:
        relieve = weakref.WeakMethod(self._relieve)  # a pool must not keep its device open

        def finish() -> None:
            if (method := relieve()) is not None:
                method()

        memory_type = choose_memory_type(self._handle, self.physical, flags)
        return Pool(self._handle, self.physical, memory_type, mapped=mapped, finish=finish)

    def _relieve(self) -> None:
        """Free what can be freed when memory runs out."""
        self._workspace = None
        self.synchronize()


def _create(physical: Physical) -> Any:
    queue = vk.struct(
        "VkDeviceQueueCreateInfo",
        queueFamilyIndex=physical.queue_family,
        queueCount=1,
        pQueuePriorities=vk.array("float", [1.0]),
    )
    features = vk.struct("VkPhysicalDeviceVulkan12Features", bufferDeviceAddress=1)
    info = vk.struct(
        "VkDeviceCreateInfo", pNext=features, queueCreateInfoCount=1, pQueueCreateInfos=queue
    )
    return vk.create("vkCreateDevice", physical.handle, info, vk.NULL, device=physical.name)


def _level(physical: Physical) -> Level:
    """Without control of rounding a driver may flush subnormals; with it, none was seen to."""
    return "exact" if physical.floats.rounding_rte else "exact-normal"


def _close(device: Any, queue: Queue, pipelines: Pipelines, pools: Mapping[int, Pool]) -> None:
    """Destroy everything that was created; after a loss of the device too."""
    with suppress(Error):
        queue.finish()
    with suppress(Error, OutOfMemoryError):
        pipelines.save()
    pipelines.destroy()
    queue.destroy()
    for pool in pools.values():
        pool.destroy()
    vk.destroy("vkDestroyDevice", device)

"""A Vulkan device behind the `Device` contract of `vkml_core.backend`."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import numpy as np

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.block import LOCAL, MAPPED, choose_memory_type
from vkml_backend_vulkan.clocks import Calibration, ticks_of
from vkml_backend_vulkan.forecast import Forecast
from vkml_backend_vulkan.free_ranges import ALIGNMENT, padded
from vkml_backend_vulkan.instance import Physical, instance, name_of
from vkml_backend_vulkan.kernels import Kernels
from vkml_backend_vulkan.logical import create_device, finish_device
from vkml_backend_vulkan.memory import Buffer, Pool
from vkml_backend_vulkan.pipeline import Pipelines
from vkml_backend_vulkan.profile import Profiler
from vkml_backend_vulkan.queue import Queue
from vkml_backend_vulkan.replays import Replays
from vkml_backend_vulkan.selftest.verdict import Verdict, untested
from vkml_backend_vulkan.sizes import MOST_ELEMENTS, check_elements
from vkml_backend_vulkan.transfer import Transfer
from vkml_backend_vulkan.warming import Ready, executable
from vkml_backend_vulkan.watch import Watch
from vkml_core.backend import Array, Capabilities, DeviceKind
from vkml_core.dtypes import DType, to_dtype
from vkml_core.plan import Plan
from vkml_core.profile import SubmissionProfile
from vkml_core.shapes import Shape

_SHARED: Final[frozenset[DeviceKind]] = frozenset({"integrated-gpu", "software"})
"""Kinds whose memory is the host's: buffers are mapped and copied directly."""
SPIN: Final = 2e-3
"""Seconds of a wait in which the device is asked again and again; software needs the processor."""


class VulkanDevice:
    """One logical device with one compute queue. Threads take turns."""

    def __init__(
        self,
        physical: Physical,
        kernels: Kernels,
        cache: Path,
        *,
        mapped: bool | None = None,
        verdict: Verdict | None = None,
    ) -> None:
        """Open `physical`; pipelines are cached in the directory `cache`.

        `mapped` tells whether the host reaches device memory directly; by default it does where
        both are the same memory. `verdict` is the self-test's; without it the level is a guess.
        Raises DeviceError, OutOfMemoryError.
        """
        self.verdict: Final = verdict or untested(physical)
        self.physical: Final = self.verdict.applied(physical)
        self.kernels: Final = kernels
        self.name: Final = physical.name
        self.kind: Final = physical.kind
        self.lock: Final = threading.RLock()
        self.dispatches = 0
        self.profiler: Profiler | None = None
        """What times submissions, while profiling is on."""
        self._workspace: list[Buffer] = []
        self._spares: tuple[Buffer, ...] = ()
        self._spare_sizes: tuple[int, ...] = ()
        self._is_open = False
        direct = physical.kind in _SHARED if mapped is None else mapped
        with ExitStack() as opening:
            self._handle = create_device(physical)
            opening.callback(vk.destroy, "vkDestroyDevice", self._handle)
            self.memory: Final = self._pool(MAPPED | LOCAL if direct else LOCAL, mapped=direct)
            opening.callback(self.memory.destroy)
            self.host: Final = self.memory if direct else self._pool(MAPPED, mapped=True)
            opening.callback(self.host.destroy)
            family = physical.queue_family
            spin = 0.0 if physical.kind == "software" else SPIN
            self.queue: Final = Queue(self._handle, family, name_of(physical), spin)
            opening.callback(self.queue.destroy)
            self.replays: Final = Replays(self._handle, family, self.queue)
            opening.callback(self.replays.destroy)
            self.watch: Final = Watch(self._handle, self.queue, self.host)
            opening.callback(self.watch.destroy)
            self._timer = self._profiler()
            opening.callback(self._timer.destroy)
            self.transfer: Final = Transfer(self.queue, self.memory, self.host)
            self.pipelines: Final = Pipelines(self._handle, physical, kernels.modules, cache)
            opening.callback(finish_device, self._handle, self.queue, self.pipelines)
            self._finalizer = weakref.finalize(self, opening.pop_all().close)
        self._is_open = True
        self._capabilities = Capabilities(
            level=self.verdict.level,
            ops=kernels.ops,
            fusion=True,
            side_by_side=True,
            profiling=True,
            alignment=ALIGNMENT,
            max_allocation=physical.max_allocation,
        )

    def capabilities(self) -> Capabilities:
        """Tell what it can do."""
        return self._capabilities

    def upload(self, array: Array) -> Buffer:
        """Copy an array into a new buffer. Raises OutOfMemoryError, DeviceLost."""
        if array.size > MOST_ELEMENTS:
            check_elements("an array", to_dtype(array.dtype), array.shape)
        with self.lock:
            self.queue.check()
            return self.transfer.upload(array)

    def download(self, buffer: Buffer, shape: Shape, dtype: DType) -> Array:
        """Copy a buffer into a new array; waits for the submission that writes it.

        Raises DeviceLost.
        """
        with self.lock:
            self.queue.check()
            array = np.empty(shape, dtype.numpy)
            self.transfer.download(buffer, array)
        return array

    def compile(self, plan: Plan) -> Ready:
        """Lower a plan and make its pipelines.

        Raises UnsupportedOpError, OutOfMemoryError for what no run could hold, DeviceLost.
        """
        with self.lock:
            self.queue.check()
            return executable(self, plan)

    def synchronize(self) -> None:
        """Wait until everything submitted, and every upload, has finished. Raises DeviceLost."""
        with self.lock:
            self.transfer.flush()
            self.queue.finish()

    @property
    def timestamps_supported(self) -> bool:
        """Whether single dispatches are timed."""
        return self._timer.timestamps_supported

    def set_profiling(self, on: bool) -> None:
        """Time what is submitted from now on, and forget what was kept; or stop.

        Waits for what was submitted before. Raises DeviceLost.
        """
        with self.lock:
            self.synchronize()
            self.replays.clear()  # what is recorded tells times, or does not
            if on:
                self._timer.clear()
            self.profiler = self.queue.profiler = self._timer if on else None

    def profile_records(self) -> Sequence[SubmissionProfile]:
        """Give the submissions kept, oldest first; waits for those that run. Raises DeviceLost."""
        with self.lock:
            if self.profiler is not None:
                self.queue.finish()
            return self._timer.records()

    def set_profile_history(self, most: int) -> None:
        """Keep the newest `most` submissions. Raises ArgumentError."""
        with self.lock:
            self._timer.keep(most)

    def workspace(self, pages: Sequence[int]) -> tuple[Buffer, ...]:
        """Give the memory that plans share, since submissions run one after the other: pages of
        at least so many bytes.
        """
        held = self._workspace
        for i, nbytes in enumerate(pages):
            if i < len(held) and held[i].nbytes < nbytes:
                del held[i:]
            if i == len(held):
                held.append(self.memory.allocate(nbytes))
        return tuple(held[: len(pages)])

    def spares(self, sizes: Sequence[int]) -> tuple[Buffer, ...]:
        """Give buffers of such sizes for new values of STATE buffers. They are exchanged when these
        are right, so that a loop goes to and fro between two sets of memory.
        """
        if not self._spares or self._spare_sizes != sizes:
            self._spares = ()
            self._spares = tuple(map(self.memory.allocate, sizes))
            self._spare_sizes = tuple(sizes)
        return self._spares

    def shortage(self, need: Forecast) -> str | None:
        """Describe what there is if a run does not fit, even when all is freed that can be."""
        if not self._has_room(need):
            self._relieve()
            self.memory.trim()
            if not self._has_room(need):
                return self.memory.usage()
        return None

    def _has_room(self, need: Forecast) -> bool:
        sizes = [padded(held.nbytes) for held in self._workspace]
        kept = sum(size for size, page in zip(sizes, need.pages, strict=False) if size >= page)
        spare = sum(padded(b.nbytes) for b in self._spares)
        return self.memory.fits(need.total - min(kept, need.workspace) - min(spare, need.backups))

    def stats(self) -> Mapping[str, float]:
        """Count bytes, buffers, submissions, dispatches, pipelines and bytes of host memory."""
        with self.lock:
            if not self.queue.lost:
                self.queue.poll()
            recorded = self.replays.stats()  # first: what it forgets is free memory
            return {
                **self.memory.stats(),
                **recorded,
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
            **self.verdict.lines(),
            "operations": str(len(self.kernels.ops)),
            **({"lost": self.queue.lost} if self.queue.lost else {}),
        }

    def close(self) -> None:
        """Wait, save the pipeline cache and destroy everything; also done when the process ends."""
        self._finalizer()

    def _profiler(self) -> Profiler:
        physical, device = self.physical, self._handle
        calibration = Calibration(instance().handle, physical.handle, device)
        return Profiler(device, ticks_of(physical.handle, physical.queue_family), calibration)

    def _pool(self, flags: int, *, mapped: bool) -> Pool:
        relieve = weakref.WeakMethod(self._relieve)  # a pool must not keep its device open

        def finish() -> None:
            if (method := relieve()) is not None:
                method()

        memory_type = choose_memory_type(self._handle, self.physical, flags)
        return Pool(self._handle, self.physical, memory_type, mapped=mapped, finish=finish)

    def _relieve(self) -> None:
        """Free what can be freed when memory runs out: nothing while the device is being opened."""
        if self._is_open:
            self._workspace.clear()
            self._spares = ()
            self.synchronize()
            self.replays.clear()

"""What the host sees of a run that can fail: error records, and the event that says they are final.

One run at a time is watched, so that all plans share the memory and the event.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.dispatch import ERROR_BYTES
from vkml_backend_vulkan.memory import Buffer, Pool
from vkml_backend_vulkan.queue import Queue
from vkml_core.spans import Phase, span


class Watch:
    """Error records in memory of the host, clear whenever no run is watched.

    Its caller holds the device's lock.
    """

    def __init__(self, device: Any, queue: Queue, host: Pool) -> None:
        """`host` is a mapped pool."""
        self._device = device
        self._queue = queue
        self._host = host
        self._records: Buffer | None = None
        self._unseen = False
        self.event = vk.create("vkCreateEvent", device, vk.struct("VkEventCreateInfo"), vk.NULL)
        """Set by a run once its records are final."""

    def records(self, count: int) -> Buffer:
        """Give memory with `count` clear records. Raises OutOfMemoryError, DeviceLost."""
        if self._unseen:  # a run was interrupted while it was watched
            self._queue.finish()
            self._clear()
        if self._records is None or self._records.nbytes < ERROR_BYTES * count:
            self._records = self._host.allocate(ERROR_BYTES * count)
            self._clear()
        return self._records

    def arm(self) -> None:
        """Begin to watch: a run is about to be submitted."""
        self._unseen = True
        vk.call("vkResetEvent", self._device, self.event)

    def see(self, submission: int, count: int, *, early: bool) -> bytes | None:
        """Wait for the records of the watched run; give them if one holds a code.

        With `early` the run sets the event; else they are final when `submission` has finished.
        """
        if not (early and self._is_settled()):
            self._queue.wait(submission)
        assert self._records is not None
        found: bytes = vk.ffi.buffer(self._records.host, ERROR_BYTES * count)[:]
        failed = bool(found.strip(b"\0"))
        if failed:
            self._clear()
        self._unseen = False
        return found if failed else None

    def destroy(self) -> None:
        """Destroy the event; nothing may be in flight."""
        vk.destroy("vkDestroyEvent", self._device, self.event)

    def _is_settled(self) -> bool:
        """Whether the event is set, or will be within the time that the queue spins."""
        status, reset = vk.lib.vkGetEventStatus(self._device, self.event), vk.lib.VK_EVENT_RESET
        if status == reset:
            end = perf_counter() + self._queue.spin
            with span(Phase.WAIT):
                while status == reset and perf_counter() < end:
                    status = vk.lib.vkGetEventStatus(self._device, self.event)
        return bool(status == vk.lib.VK_EVENT_SET)

    def _clear(self) -> None:
        assert self._records is not None
        vk.ffi.memmove(self._records.host, bytes(self._records.nbytes), self._records.nbytes)
        self._unseen = False

"""The compute queue: a ring of submissions, each with a fence and a command buffer to record.

Submissions run in order: each begins by waiting for everything before it and ends by making its
writes visible to the host.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Final, NoReturn

from vkml_backend_vulkan import vk
from vkml_backend_vulkan.barriers import BEGIN, END
from vkml_backend_vulkan.profile import Profiler
from vkml_backend_vulkan.recorded import Ready
from vkml_core.errors import DeviceLost
from vkml_core.spans import Phase, span

IN_FLIGHT: Final = 8
"""Submissions that may be unfinished; the next one waits for the oldest."""
_OWN: Final = "work of the backend"
_SLICE: Final = 200_000_000
"""Nanoseconds of one wait, so that Ctrl-C is heard."""


@dataclass(slots=True)
class _Recorder:
    """A command buffer in a pool of its own, the submission it last held, and what that uses."""

    pool: Any
    commands: Any
    """A C array: the command buffer, and a place for one that follows it."""
    fence: Any
    """A C array of the one fence."""
    info: Any
    """The VkSubmitInfo of `commands`."""
    submission: int = 0
    kept: Sequence[object] = field(default=())
    what: object = ""
    """Says as a string what was recorded."""


class Queue:
    """Records and submits; its caller holds the device's lock.

    Once the device is lost every method that needs it raises DeviceLost.
    """

    def __init__(self, device: Any, family: int, name: str, spin: float = 0.0) -> None:
        """`name` is what the user opens the device by; a wait first asks for `spin` seconds again
        and again, which is sooner told than what the operating system wakes up for.
        """
        self.spin: Final = spin
        self._device = device
        self._name = name
        out = vk.ffi.new("VkQueue *")
        vk.lib.vkGetDeviceQueue(device, family, 0, out)
        self._queue = out[0]
        self._recorders: list[_Recorder] = []
        self.submitted = 0
        self.finished = 0
        """All submissions up to this number are known to have finished."""
        self.profiler: Profiler | None = None
        """Told when submissions have finished, while they are timed."""
        self.lost = ""
        """Where the device was lost; empty while it works."""
        begin = vk.lib.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT
        self._begin_info = vk.struct("VkCommandBufferBeginInfo", flags=begin)
        with ExitStack() as undo:
            undo.callback(self.destroy)
            for _ in range(IN_FLIGHT):
                self._recorders.append(_create_recorder(device, family))
            undo.pop_all()

    @property
    def next(self) -> int:
        """The number of the submission that is being recorded."""
        return self.submitted + 1

    def begin(self) -> Any:
        """Give the next command buffer, begun; waits where too many are in flight."""
        recorder = self._recorder(self.next)
        self.wait(recorder.submission)
        vk.call("vkResetCommandPool", self._device, recorder.pool, 0)
        commands = recorder.commands[0]
        vk.call("vkBeginCommandBuffer", commands, self._begin_info)
        BEGIN.record(commands)
        return commands

    def submit(self, keep: Sequence[object], what: object = _OWN, then: Ready | None = None) -> int:
        """Submit what was recorded since `begin`, and `then` after it; give its number.

        What is in `keep` stays alive until the submission has finished; `what` says as a string
        what it does, should the device be lost.
        """
        recorder = self._recorder(self.next)
        if then is None:
            END.record(recorder.commands[0])
        else:
            recorder.commands[1] = then.commands
        recorder.info.commandBufferCount = 1 if then is None else 2
        vk.call("vkEndCommandBuffer", recorder.commands[0])
        return self._send(recorder, recorder.info, keep, what)

    def replay(self, ready: Ready, keep: Sequence[object], what: object) -> int:
        """Submit what is recorded, which is not in flight; the rest is as in `submit`."""
        recorder = self._recorder(self.next)
        if recorder.submission > self.finished:
            self.wait(recorder.submission)
        return self._send(recorder, ready.info, keep, what)

    def wait(self, submission: int) -> None:
        """Wait until a submission and all before it have finished. Raises DeviceLost."""
        self.check()
        if self.finished < submission:
            with span(Phase.WAIT):
                if not self._spins(submission):
                    self._block(submission)
            self._drop(submission)
        if self.finished < self.submitted:
            self.poll()

    def poll(self) -> None:
        """Drop what finished submissions kept alive. Raises DeviceLost."""
        self.check()
        done = self.finished
        while done < self.submitted and self._is_done(done + 1):
            done += 1
        self._drop(done)

    def finish(self) -> None:
        """Wait for everything submitted."""
        self.wait(self.submitted)

    def check(self) -> None:
        """Raise DeviceLost if the device was lost."""
        if self.lost:
            raise DeviceLost(f"vulkan: this device was lost, {self.lost}; {self._advice()}")

    def destroy(self) -> None:
        """Destroy the fences and the command pools; nothing may be in flight."""
        for recorder in self._recorders:
            recorder.kept = ()
            vk.destroy("vkDestroyCommandPool", self._device, recorder.pool)
            vk.destroy("vkDestroyFence", self._device, recorder.fence[0])
        self._recorders.clear()

    def _send(self, recorder: _Recorder, info: Any, keep: Sequence[object], what: object) -> int:
        vk.call("vkResetFences", self._device, 1, recorder.fence)
        recorder.what = what
        number = self.submitted + 1
        self._call("vkQueueSubmit", number, self._queue, 1, info, recorder.fence[0])
        self.submitted = recorder.submission = number
        recorder.kept = keep
        return number

    def _spins(self, submission: int) -> bool:
        """Whether a submission finishes while it is asked for again and again."""
        if not self.spin:
            return False
        end = perf_counter() + self.spin
        while not self._is_done(submission):
            if perf_counter() >= end:
                return False
        return True

    def _block(self, submission: int) -> None:
        arguments = self._device, 1, self._recorder(submission).fence, 1, _SLICE
        while self._call("vkWaitForFences", submission, *arguments):
            pass

    def _call(self, name: str, submission: int, *arguments: Any) -> int:
        """Call what may find the device lost."""
        result: int = getattr(vk.lib, name)(*arguments)
        if result < 0:
            self._fail(name, result, submission)
        return result

    def _fail(self, name: str, result: int, submission: int) -> NoReturn:
        error = vk.failure(name, result, submission=submission)
        if not isinstance(error, DeviceLost):
            raise error
        self._lose(submission)
        raise DeviceLost(f"{error}; it was lost {self.lost}; {self._advice()}")

    def _lose(self, submission: int) -> None:
        """Remember where, and let go of what submissions kept: none of them goes on."""
        last = max(submission, self.submitted)
        running = range(self.finished + 1, last)
        oldest = next((s for s in running if not self._has_signalled(s)), last)
        told = dict.fromkeys((oldest, last))
        self.lost = "in " + " or later, the latest being ".join(
            f"submission {s} ({self._recorder(s).what})" for s in told
        )
        for recorder in self._recorders:
            recorder.kept = ()

    def _advice(self) -> str:
        return (
            f"call vkml.device({self._name!r}).reopen(), then make its tensors again, from a "
            f"checkpoint or the CPU"
        )

    def _has_signalled(self, submission: int) -> bool:
        fence = self._recorder(submission).fence[0]
        return bool(vk.lib.vkGetFenceStatus(self._device, fence) == vk.lib.VK_SUCCESS)

    def _is_done(self, submission: int) -> bool:
        fence = self._recorder(submission).fence[0]
        status: int = vk.lib.vkGetFenceStatus(self._device, fence)
        if status < 0:
            self._fail("vkGetFenceStatus", status, submission)
        return not status

    def _drop(self, done: int) -> None:
        """Note that all submissions up to `done` have finished."""
        for submission in range(self.finished + 1, done + 1):
            self._recorder(submission).kept = ()
        self.finished = done
        if self.profiler is not None:
            self.profiler.finished(done)

    def _recorder(self, submission: int) -> _Recorder:
        return self._recorders[submission % IN_FLIGHT]


def _create_recorder(device: Any, family: int) -> _Recorder:
    transient = vk.lib.VK_COMMAND_POOL_CREATE_TRANSIENT_BIT
    info = vk.struct("VkCommandPoolCreateInfo", flags=transient, queueFamilyIndex=family)
    with ExitStack() as undo:
        pool = vk.create("vkCreateCommandPool", device, info, vk.NULL)
        undo.callback(vk.destroy, "vkDestroyCommandPool", device, pool)
        fence = vk.create("vkCreateFence", device, vk.struct("VkFenceCreateInfo"), vk.NULL)
        undo.callback(vk.destroy, "vkDestroyFence", device, fence)
        primary = vk.struct("VkCommandBufferAllocateInfo", commandPool=pool, commandBufferCount=1)
        commands = vk.ffi.new("VkCommandBuffer[2]")  # the first is destroyed with its pool
        vk.call("vkAllocateCommandBuffers", device, primary, commands)
        undo.pop_all()
    submit = vk.struct("VkSubmitInfo", pCommandBuffers=commands)
    return _Recorder(pool, commands, vk.array("VkFence", [fence]), submit)

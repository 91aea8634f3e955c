"""Runs an iterator in a thread, some items ahead of its consumer.

Everything passes through two queues whose `put` never blocks and may be called by the garbage
collector at any point: results one way, permits to make another item the other way.
"""

from __future__ import annotations

import atexit
import contextvars
import os
import threading
import weakref
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, Final

from vkml_core.errors import Error

PATIENCE: Final = 10.0
"""Seconds that the end of the process waits for the item that is being made."""


class PrefetchError(Error, RuntimeError):
    """An iteration whose thread was left behind, in the process that this one was forked from."""


class Prefetch(Iterator[Any]):
    """Iterates over `items`, made in a thread, at most `ahead` of them before they are wanted.

    An exception of the thread comes out in place of the item, with its traceback. The thread
    ends with the items, with `close()`, when this object is no longer referenced, and with the
    process.
    """

    def __init__(self, items: Iterable[Any], ahead: int) -> None:
        self._process = os.getpid()
        self._ended = False
        self._worker = worker = _Worker(iter(items))
        for _ in range(ahead):
            worker.permits.put(None)
        weakref.finalize(self, worker.close).atexit = False  # `leave` sees to that
        worker.start()

    def __next__(self) -> Any:
        if self._ended:
            raise StopIteration
        if os.getpid() != self._process:
            raise PrefetchError(
                "DataLoader: the thread that makes these batches ahead is in the parent process; "
                "start the iteration after the fork"
            )
        try:
            result = self._worker.results.get()
        except BaseException:  # KeyboardInterrupt
            self.close()
            raise
        if result.is_end:
            self.close()
            try:
                raise StopIteration if result.error is None else result.error
            finally:
                del result  # else its traceback would lead back to itself
        self._worker.permits.put(None)
        return result.item

    def close(self) -> None:
        """End the thread; does not wait."""
        self._ended = True
        self._worker.close()


@dataclass(slots=True)
class _Result:
    """An item, or the end: with an exception, or because there are no more items."""

    item: Any = None
    is_end: bool = False
    error: BaseException | None = None


class _Worker:
    """The thread, and the queues between it and the consumer. It knows no `Prefetch`."""

    def __init__(self, items: Iterator[Any]) -> None:
        self.permits: SimpleQueue[None] = SimpleQueue()
        self.results: SimpleQueue[_Result] = SimpleQueue()
        self._items = items
        self._closed = False
        run = contextvars.copy_context().run  # the thread sees the caller's np.errstate
        # A daemon: Python would wait for another kind before `leave` could end it.
        self._thread = threading.Thread(
            target=run, args=(self._work,), name="vkml-prefetch", daemon=True
        )

    def start(self) -> None:
        """Start the thread.

        What is registered last is called first when the process ends: the thread is told to stop
        before the device, which was opened before, is closed.
        """
        atexit.register(self.leave)
        try:
            self._thread.start()
        except RuntimeError:
            atexit.unregister(self.leave)
            raise

    def close(self) -> None:
        """Have the thread end: at once where it waits, else after the item that it makes."""
        self._closed = True
        self.permits.put(None)

    def leave(self) -> None:
        """End the thread and wait: at the end of the process it must not use a device."""
        self.close()
        self._thread.join(PATIENCE)

    def _work(self) -> None:
        try:
            while self._make_one():
                pass
        finally:
            atexit.unregister(self.leave)

    def _make_one(self) -> bool:
        """Make an item as soon as one may be made; say whether to go on."""
        self.permits.get()
        if self._closed:
            return False
        result = self._try()
        self.results.put(result)
        return not result.is_end

    def _try(self) -> _Result:
        try:
            return _Result(next(self._items))
        except StopIteration:
            return _Result(is_end=True)
        except BaseException as error:
            return _Result(is_end=True, error=error)

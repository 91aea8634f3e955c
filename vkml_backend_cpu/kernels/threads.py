"""Run independent tasks on the cores this process may use."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def thread_count() -> int:
    """Return ``VKML_CPU_THREADS``, or the cores of this process; no result depends on it."""
    asked = os.environ.get("VKML_CPU_THREADS")
    return max(1, int(asked)) if asked else len(os.sched_getaffinity(0))


@cache
def _pool(threads: int, process: int) -> ThreadPoolExecutor:
    # Keyed by process, because the threads of a pool do not survive a fork.
    return ThreadPoolExecutor(threads, thread_name_prefix=f"vkml-cpu-{process}")


def parallel(function: Callable[[Task], Result], tasks: Sequence[Task]) -> Iterator[Result]:
    """Yield ``function(task)`` for every task, in the order of the tasks.

    Each call runs in its own copy of the caller's context, so that it sees the caller's
    ``np.errstate`` and its own settings (``np.setbufsize``) end with it. A task must not call
    ``parallel`` itself: it could wait for the thread it runs on.
    """
    threads = thread_count()
    if threads == 1 or len(tasks) == 1:
        return (copy_context().run(function, task) for task in tasks)
    run = [(copy_context(), task) for task in tasks]
    return _pool(threads, os.getpid()).map(lambda call: call[0].run(function, call[1]), run)

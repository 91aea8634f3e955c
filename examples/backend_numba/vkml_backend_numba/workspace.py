"""What a device's programs share: memory for temporary values, threads' scratch, hard arguments."""

from __future__ import annotations

import os
import threading
from typing import Final

import numpy as np
from vkml_backend_cpu.elementary import exact
from vkml_core.backend import Array
from vkml_core.settings import settings

from vkml_backend_numba.compiling import config
from vkml_backend_numba.kernels import thread
from vkml_backend_numba.kernels.elementwise import FUNCTIONS
from vkml_backend_numba.kernels.library import entries
from vkml_backend_numba.kernels.thread import HARD, UNDECIDED

ALIGNMENT: Final = 64


def address(array: Array) -> int:
    """Give where an array's first element is."""
    found: int = array.__array_interface__["data"][0]
    return found


class Memory:
    """Bytes that grow when more are asked for, aligned to a cache line."""

    def __init__(self) -> None:
        self._array = np.zeros(ALIGNMENT, np.uint8)
        self.nbytes = 0

    def at_least(self, nbytes: int) -> int:
        """Give the address of so many bytes; what was in them may be lost."""
        if nbytes > self.nbytes:
            self._array = np.empty(nbytes + ALIGNMENT, np.uint8)
            self.nbytes = nbytes
        return -(-address(self._array) // ALIGNMENT) * ALIGNMENT

    def view(self, start: int, nbytes: int) -> Array:
        """Give bytes of it from an address on."""
        first = start - address(self._array)
        return self._array[first : first + nbytes]


class Workspace:
    """One for each device. `lock` is held while a program runs: threads share the memory."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.threads = max(1, settings().cpu_threads or config.NUMBA_NUM_THREADS)
        self._process = os.getpid()
        self.arena, self.own, self.scratch = Memory(), Memory(), Memory()
        self.hard = np.zeros((len(FUNCTIONS), 2 * HARD + 1), np.int64)
        self.thread_words = np.zeros((self.threads, thread.WORDS), np.int64)
        self.thread_words[:, thread.DECIDED] = address(self.hard)
        self.thread_words[:, thread.ENTRIES] = address(entries)

    @property
    def workers(self) -> int:
        """How many threads share tasks: one in a forked child, where those of OpenMP are gone."""
        return self.threads if os.getpid() == self._process else 1

    def decide(self) -> bool:
        """Decide the roundings that stopped a program; False if something else did."""
        words = self.thread_words
        stopped = words[words[:, thread.STOPPED] != 0]
        words[:, thread.STOPPED] = 0
        if (stopped[:, thread.STOPPED] != UNDECIDED).any():
            return False
        for function, bits in stopped[:, [thread.FUNCTION, thread.ARGUMENT]]:
            self._keep(int(function), int(bits))
        return True

    def _keep(self, function: int, bits: int) -> None:
        """Keep the value at one argument; a full table starts anew."""
        row = self.hard[function]
        x = float(np.int32(bits).view(np.float32))
        value = np.float32(exact.evaluate(FUNCTIONS[function], x))
        count = int(row[0]) % HARD
        row[1 + 2 * count : 3 + 2 * count] = bits, int(value.view(np.int32))
        row[0] = count + 1

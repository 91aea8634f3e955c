"""Matrix product in the contract's order: multiply, then add, k by k, in chunks of 512.

K rank-one updates on tiles that fit the cache. The order of additions into an element never
depends on tiles, threads or layout, so all of them are free.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from itertools import product
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from vkml_core.settings import settings

Array = npt.NDArray[Any]
Job = TypeVar("Job")
CHUNK: Final = 512
"""Elements of K that are added up before chunk results are (contract, rule 19)."""
TILE: Final = 32768
"""Elements of a tile of the result: with its product, half of a usual second-level cache."""
ROW: Final = 2048
"""Longest row of a tile."""
THREADS: Final = 2
"""Threads unless VKML_CPU_THREADS says otherwise: more would mostly wait for the interpreter's lock
(a CNN step on two cores: 745 ms with one thread, 645 with two, 732 with four)."""
SHORT_ROW: Final = 128
"""Rows below this are multiplied faster through the iterator's buffer."""


@cache
def _threads() -> int:
    return settings().cpu_threads or min(os.cpu_count() or 1, THREADS)


@cache
def _pool(process: int) -> ThreadPoolExecutor:
    # One for each process: the threads of a pool do not survive a fork.
    return ThreadPoolExecutor(_threads(), f"vkml-cpu-{process}")


def in_parallel(work: Callable[[Job], None], jobs: Sequence[Job]) -> None:
    """Do independent jobs on the threads, each in its own copy of the caller's context.

    So a job sees the caller's `np.errstate`, and its own `np.setbufsize` ends with it.
    """
    if len(jobs) > 1 and _threads() > 1:
        calls = [(copy_context(), job) for job in jobs]
        list(_pool(os.getpid()).map(lambda call: call[0].run(work, call[1]), calls))
    else:
        for job in jobs:
            copy_context().run(work, job)


def matmul(a: Array, b: Array) -> Array:
    """Multiply (…, M, K) by (…, K, N) for equal batches; float32, int32 or int64."""
    *batch, m, k = a.shape
    n = b.shape[-1]
    count = int(np.prod(batch, dtype=np.int64))
    left, right = a.reshape((count, m, k)), b.reshape((count, k, n))
    if m > n:  # the longer side is the inner loop; a·b and b·a have the same bits
        swapped = _product(right.transpose(0, 2, 1), left.transpose(0, 2, 1))
        return np.ascontiguousarray(swapped.transpose(0, 2, 1)).reshape((*batch, m, n))
    return _product(left, right).reshape((*batch, m, n))


def _product(a: Array, b: Array) -> Array:
    out = np.empty((a.shape[0], a.shape[1], b.shape[2]), a.dtype)
    jobs = list(product(*map(_cuts, out.shape, _tile_shape(out.shape))))
    in_parallel(lambda job: _tile(a, b, out, *job), jobs)
    return out


def _tile_shape(shape: tuple[int, ...]) -> tuple[int, int, int]:
    cols = min(shape[2], ROW)
    rows = min(shape[1], max(1, TILE // max(cols, 1)))
    return max(1, TILE // max(cols * rows, 1)), rows, cols


def _cuts(n: int, step: int) -> list[slice]:
    return [slice(i, min(i + step, n)) for i in range(0, n, max(step, 1))]


def _tile(a: Array, b: Array, out: Array, batch: slice, rows: slice, cols: slice) -> None:
    """Compute one tile of the result."""
    left, right = a[batch, rows], b[batch, :, cols]
    k = left.shape[2]
    total = np.zeros_like(out[batch, rows, cols], order="C")
    together = max(1, TILE // max(total.size, 1))
    for start in range(0, k, CHUNK * together):
        stop = min(k, start + CHUNK * together)
        for part in _chunks(left[:, :, start:stop], right[:, start:stop]):
            total += part
    out[batch, rows, cols] = total


def _chunks(a: Array, b: Array) -> Array:
    """Give the results of several chunks at once, (chunks, batch, M, N). Zeros pad the last."""
    count, m, k = a.shape
    n, chunks = b.shape[2], -(-k // CHUNK)
    length = min(k, CHUNK)
    lefts = np.zeros((length, chunks, count, m, 1), a.dtype)
    rights = np.zeros((length, chunks, count, 1, n), b.dtype)
    for c, cut in enumerate(_cuts(k, CHUNK)):
        part = cut.stop - cut.start
        lefts[:part, c, :, :, 0] = a[:, :, cut].transpose(2, 0, 1)
        rights[:part, c, :, 0] = b[:, cut].transpose(1, 0, 2)
    # NumPy copies broadcast operands whose rows fit its buffer: four times slower, but not for
    # short rows. Runs in a context of its own (`in_parallel`), which ends the setting.
    np.setbufsize(16 if n >= SHORT_ROW else 1024)
    acc = np.zeros((chunks, count, m, n), a.dtype)
    term = np.empty_like(acc)
    for left, right in zip(lefts, rights, strict=True):
        np.multiply(left, right, out=term)
        np.add(acc, term, out=acc)
    return acc

"""Runs a program: substeps in order, the tasks of each side by side on threads.

A row of `substeps` is: kind, tasks, the word where its description begins, units (elements, planes
or rows) in all and in a task, the word of a chain that goes on with what a task made, or −1, and
whether it is too small to be shared.
"""

from __future__ import annotations

from typing import Final

from numba import prange

from vkml_backend_numba.compiling import kernel, program
from vkml_backend_numba.kernels.chain import chain
from vkml_backend_numba.kernels.convolution import convolve, refuse_infinite
from vkml_backend_numba.kernels.indexing import gather, random_bits, scatter
from vkml_backend_numba.kernels.memory import i64
from vkml_backend_numba.kernels.pooling import max_pool, max_pool_grad
from vkml_backend_numba.kernels.products import pack, product
from vkml_backend_numba.kernels.sums import reduce_rows
from vkml_backend_numba.kernels.weight_gradient import pack_gradients, pad_images, weight_grad

KINDS: Final = (
    "chain",
    "reduce",
    "pack",
    "product",
    "convolve",
    "refuse_infinite",
    "pad_images",
    "pack_gradients",
    "weight_grad",
    "max_pool",
    "max_pool_grad",
    "gather",
    "scatter",
    "random_bits",
)
"""Kinds of substeps by their number."""
STATUS: Final = 8
"""Words of a thread's status: what stopped it, the function and the argument left open."""


@kernel
def _task(kind, words, at, addresses, task, first, last, scratch, status, hard):
    """Do one task and give the range of elements that it made, for the chain that goes on."""
    if kind == 0:
        chain(words, at, addresses, first, last, scratch, status, hard)
    elif kind == 1:
        reduce_rows(words, at, addresses, first, last, scratch)
    elif kind == 2:
        pack(words, at, addresses, task)
    elif kind == 3:
        return product(words, at, addresses, task, scratch)
    elif kind == 4:
        return convolve(words, at, addresses, task, scratch)
    elif kind == 5:
        refuse_infinite(words, at, addresses, status)
    elif kind == 6:
        pad_images(words, at, addresses, task)
    elif kind == 7:
        pack_gradients(words, at, addresses, task)
    elif kind == 8:
        weight_grad(words, at, addresses, task, scratch)
    elif kind == 9:
        max_pool(words, at, addresses, first, last)
        each = words[at + 5] * words[at + 6]
        return first * each, last * each
    elif kind == 10:
        max_pool_grad(words, at, addresses, first, last)
        each = words[at + 3] * words[at + 4]
        return first * each, last * each
    elif kind == 11:
        for outer in range(first, last):
            gather(words, at, addresses, outer, status)
    elif kind == 12:
        for outer in range(first, last):
            scatter(words, at, addresses, outer, status)
    else:
        random_bits(words, at, addresses, first, last)
    return first, last


@kernel
def _share(substeps, s, words, addresses, worker, workers, scratch, status, hard):
    """Do every task of a substep that is one worker's."""
    kind, tasks, at = substeps[s, 0], substeps[s, 1], substeps[s, 2]
    units, each, then = substeps[s, 3], substeps[s, 4], substeps[s, 5]
    for task in range(worker, tasks, workers):
        first = task * each
        last = min(units, first + each)
        start, stop = _task(kind, words, at, addresses, task, first, last, scratch, status, hard)
        if then >= 0:
            chain(words, then, addresses, start, stop, scratch, status, hard)


@program
def run(substeps, words, addresses, first, workers, scratch, size, status, hard):
    """Run substeps from `first` on; give the one that stopped, or their number."""
    for s in range(first, len(substeps)):
        if substeps[s, 6] or workers == 1:
            _share(substeps, s, words, addresses, 0, 1, scratch, status, hard)
        else:
            for worker in prange(workers):
                _share(
                    substeps,
                    s,
                    words,
                    addresses,
                    worker,
                    workers,
                    scratch + worker * size,
                    status + worker * STATUS * 8,
                    hard,
                )
        for worker in range(workers):
            if i64(status + worker * STATUS * 8, 1)[0]:
                return s
    return len(substeps)

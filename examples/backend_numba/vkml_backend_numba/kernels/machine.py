"""Runs a program: substeps in order, the tasks of each side by side on threads.

A row of `substeps` is: the number of its function, tasks, the word where its description begins,
units (elements, planes or rows) in all and in a task, the word of a chain that goes on with what a
task made, or −1, and whether it is too small to be shared.
"""

from __future__ import annotations

from numba import prange

from vkml_backend_numba.compiling import TASK, Program, kernel
from vkml_backend_numba.kernels.library import KINDS
from vkml_backend_numba.kernels.memory import caller, i64
from vkml_backend_numba.kernels.thread import ENTRIES, FIRST, LAST, STOPPED, WORDS

call_task = caller(TASK)
_CHAIN = KINDS["chain"]


@kernel
def _share(substeps, s, words, addresses, worker, workers, scratch, thread):
    """Do every task of a substep that is one worker's."""
    own = i64(thread, WORDS)
    entries = own[ENTRIES]
    function, tasks = i64(entries + substeps[s, 0] * 8, 1)[0], substeps[s, 1]
    at, units, each, then = substeps[s, 2], substeps[s, 3], substeps[s, 4], substeps[s, 5]
    goes_on = i64(entries + _CHAIN * 8, 1)[0]
    for task in range(worker, tasks, workers):
        first = task * each
        last = min(units, first + each)
        call_task(function, (words + at * 8, addresses, task, first, last, scratch, thread))
        if then >= 0:
            given = (words + then * 8, addresses, task, own[FIRST], own[LAST], scratch, thread)
            call_task(goes_on, given)


@Program
def run(substeps, words, addresses, first, workers, scratch, size, threads):
    """Run substeps from `first` on; give the one that stopped, or their number."""
    for s in range(first, len(substeps)):
        if substeps[s, 6] or workers == 1:
            _share(substeps, s, words, addresses, 0, 1, scratch, threads)
        else:
            for worker in prange(workers):
                own, thread = scratch + worker * size, threads + worker * WORDS * 8
                _share(substeps, s, words, addresses, worker, workers, own, thread)
        for worker in range(workers):
            if i64(threads + worker * WORDS * 8, WORDS)[STOPPED]:
                return s
    return len(substeps)

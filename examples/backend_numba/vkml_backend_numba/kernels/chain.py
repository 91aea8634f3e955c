"""Runs a chain of element-wise calls on a range of elements, block by block.

Words of a chain: operands, calls, the result's number, its slot, its dtype; then the operands, then
for each call the number of its loop, the buffer of its result, three arguments and whether it
narrows to float16.
"""

from __future__ import annotations

from typing import Final

from vkml_backend_numba.compiling import LOOP, entry
from vkml_backend_numba.kernels.blocks import (
    BLOCK,
    OPERAND,
    item_size,
    load,
    round_to_half,
    store,
)
from vkml_backend_numba.kernels.memory import caller, i64
from vkml_backend_numba.kernels.thread import ENTRIES, MOST_ENTRIES, WORDS

HEAD: Final = 5
CALL: Final = 6
MOST_VALUES: Final = 64
BUFFER: Final = BLOCK * 8
"""Bytes of a block of the widest values."""
call_loop = caller(LOOP)


@entry
def chain(words, addresses, task, first, last, scratch, thread):
    """Compute elements `first` to `last` of a chain."""
    operands, calls = words[0], words[1]
    target, dtype = addresses[words[3]], words[4]
    entries = i64(i64(thread, WORDS)[ENTRIES], MOST_ENTRIES)
    places = i64(scratch, MOST_VALUES)
    buffers = scratch + MOST_VALUES * 8
    item = item_size(dtype)
    for start in range(first, last, BLOCK):
        n = min(BLOCK, last - start)
        for v in range(operands):
            place = buffers + v * BUFFER
            places[v] = load(words, HEAD + v * OPERAND, addresses, start, n, place)
        for c in range(calls):
            k = HEAD + operands * OPERAND + c * CALL
            made = buffers + words[k + 1] * BUFFER
            a, b, d = places[words[k + 2]], places[words[k + 3]], places[words[k + 4]]
            call_loop(entries[words[k]], (made, a, b, d, n, thread))
            if words[k + 5]:
                round_to_half(made, n)
            places[operands + c] = made
        store(places[words[2]], target + start * item, dtype, n)

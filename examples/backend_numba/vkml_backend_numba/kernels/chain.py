"""Runs a chain of element-wise calls on a range of elements, block by block.

Words of a chain: operands, calls, the result's number, its slot, its dtype; then the operands, then
for each call a code, the buffer of its result, three arguments and whether it narrows to float16.
"""

from __future__ import annotations

from typing import Final

from vkml_backend_numba.compiling import kernel
from vkml_backend_numba.kernels.blocks import (
    BLOCK,
    OPERAND,
    item_size,
    load,
    round_to_half,
    store,
)
from vkml_backend_numba.kernels.elementwise import apply
from vkml_backend_numba.kernels.memory import i64

HEAD: Final = 5
CALL: Final = 6
MOST_VALUES: Final = 64
BUFFER: Final = BLOCK * 8
"""Bytes of a block of the widest values."""


@kernel
def chain(words, at, addresses, first, last, scratch, status, hard):
    """Compute elements `first` to `last` of the chain described at word `at`."""
    operands, calls = words[at], words[at + 1]
    target, dtype = addresses[words[at + 3]], words[at + 4]
    places = i64(scratch, MOST_VALUES)
    buffers = scratch + MOST_VALUES * 8
    item = item_size(dtype)
    for start in range(first, last, BLOCK):
        n = min(BLOCK, last - start)
        for v in range(operands):
            described = at + HEAD + v * OPERAND
            places[v] = load(words, described, addresses, start, n, buffers + v * BUFFER)
        for c in range(calls):
            k = at + HEAD + operands * OPERAND + c * CALL
            made = buffers + words[k + 1] * BUFFER
            a, b, d = places[words[k + 2]], places[words[k + 3]], places[words[k + 4]]
            apply(words[k], made, a, b, d, n, status, hard)
            if words[k + 5]:
                round_to_half(made, n)
            places[operands + c] = made
        store(places[words[at + 2]], target + start * item, dtype, n)

"""The words of a thread: what a task leaves for the machine and the host, and where tables are."""

from __future__ import annotations

from typing import Final

from vkml_backend_numba.compiling import kernel
from vkml_backend_numba.kernels.memory import i64

STOPPED, FUNCTION, ARGUMENT, FIRST, LAST, DECIDED, ENTRIES = range(7)
"""What stopped it; the function and the argument left open; the range of elements that a task made;
addresses of the table of decided arguments and of the functions by their number."""
WORDS: Final = 8
MOST_ENTRIES: Final = 1024
"""Functions that are called by number."""
UNDECIDED: Final = 1
"""A rounding that the first phase leaves open; the program stops and the host decides."""
REFUSED: Final = 2
"""An index or a divisor that is an error."""
HARD: Final = 256
"""Arguments of one function that the host has decided and that are looked up."""


@kernel
def refuse(thread):
    """Stop the program at this step."""
    i64(thread, WORDS)[STOPPED] = REFUSED


@kernel
def tell(thread, first, last):
    """Tell the range of elements that a task made, for the chain that goes on with them."""
    words = i64(thread, WORDS)
    words[FIRST], words[LAST] = first, last

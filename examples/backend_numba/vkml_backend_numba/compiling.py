"""How functions are compiled: with flags that keep the contract, and each on its own.

What a plan needs is compiled when it is first needed, and kept on disk (`kept`). So a function that
others call by address (`separate`) is small, and what it calls (`kernel`) is compiled into it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Final, TypeVar, cast

import numba
from numba.core import types
from numba.core.ccallback import CFunc

from vkml_backend_numba.interrupts import uninterrupted
from vkml_backend_numba.kept import Kept

Function = TypeVar("Function", bound=Callable[..., Any])
config: Any = numba.config
"""Numba's settings, which have no types."""
_OPTIONS: Final = {"nopython": True, "nogil": True, "error_model": "numpy"}
"""No fast math; division as IEEE 754 has it."""
_LONG, _LONGS = types.int64, types.CPointer(types.int64)
LOOP: Final = types.void(*[_LONG] * 6)
"""Element-wise loops: addresses of the result and of three operands, elements, the thread's
words."""
TASK: Final = types.void(_LONGS, _LONGS, *[_LONG] * 5)
"""Tasks of substeps: words, addresses of slots, the task, its first and last unit, scratch memory,
the thread's words."""
RUN: Final = types.int64(types.Array(_LONG, 2, "C"), *[_LONG] * 7)
"""The machine: substeps; addresses of words and of addresses; the first substep, workers, scratch
memory, its size for a worker, threads' words."""


def kernel(function: Function) -> Function:
    """Compile a function into those that call it."""
    compiled: Any = numba.njit(nogil=True, error_model="numpy")(function)
    return cast(Function, compiled)


class Separate:
    """A function that is called by address, compiled or loaded when that is first asked for."""

    def __init__(self, function: Callable[..., Any], kind: Any) -> None:
        self.__doc__ = function.__doc__
        made: Any = CFunc(function, (kind.args, kind.return_type), {}, dict(_OPTIONS))
        made._cache = Kept(function.__name__)
        self._compiled = made

    @cached_property
    def address(self) -> int:
        """Where its code begins."""
        with uninterrupted():
            self._compiled.compile()
        found: int = self._compiled.address
        return found


def entry(function: Callable[..., Any]) -> Separate:
    """Make a task of a substep, which the machine calls."""
    return Separate(function, TASK)


class Program:
    """The outermost function, which Python calls: parallel, and kept on disk."""

    def __init__(self, function: Callable[..., Any]) -> None:
        made: Any = numba.njit(nogil=True, error_model="numpy", parallel=True)(function)
        made._cache = Kept(function.__name__)
        self._compiled = made

    def prepare(self) -> None:
        """Compile or load it, unless that was done; no call with other types compiles another."""
        if not self._compiled.signatures:
            with uninterrupted():
                self._compiled.compile(RUN)
            self._compiled.disable_compile()

    def __call__(self, *arguments: Any) -> int:
        """Run it."""
        found: int = self._compiled(*arguments)
        return found

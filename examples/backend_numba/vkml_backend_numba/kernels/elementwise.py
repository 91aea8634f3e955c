"""Element-wise operations over blocks: one small loop for each operation and type, from a table.

A chain of calls runs block by block (`chain`), and a block of each value stays in the first-level
cache. So a fused chain is read and written once, and no chain has to be compiled. Values are held
as float32 (float16 too, widened), int32, int64 or uint8 (bool). NaN may have any bits here; the
store at the end of a chain makes it canonical.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from vkml_backend_numba.compiling import kernel
from vkml_backend_numba.kernels import doubles, memory, scalars
from vkml_backend_numba.kernels.operations import LIMITS, LOOPS, VIEWS, Loop

UNDECIDED: Final = 1
"""A rounding that the first phase leaves open; the program stops and the host decides."""
REFUSED: Final = 2
"""An index or a divisor that is an error."""
HARD: Final = 256
"""Arguments of one function that the host has decided and that are looked up."""
_HELPERS: Final = ("bits_of", "float_of", "floor", "ceil", "trunc", "rint")
_SCALARS: Final = ("F0", "F1", "NAN", "INF", "floored", "saturated", "log_end", "log1p_end")
_NAMES: Final[dict[str, Any]] = {
    **{n: getattr(memory, n) for n in (*VIEWS.values(), *_HELPERS)},
    **{n: getattr(doubles, n) for n in LIMITS},
    **{n: getattr(scalars, n) for n in _SCALARS},
    "math": math,
    "np": np,
    "UNDECIDED": UNDECIDED,
    "REFUSED": REFUSED,
    "HARD": HARD,
    "LEAST": np.iinfo(np.int64).min,
    "MOST": np.iinfo(np.int64).max,
}


def written(name: str, source: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """Compile a function from its source, which tracebacks then show."""
    place = f"<vkml-numba {name}>"
    linecache.cache[place] = (len(source), None, source.splitlines(True), place)
    scope = dict(names)
    exec(compile(source, place, "exec"), scope)
    made: Callable[..., Any] = scope[name]
    return made


def _loop(loop: Loop, name: str) -> Callable[..., Any]:
    letters = "xyz"[: len(loop.takes)]
    lines = [f"def {name}(d, a, b, c, n, status, hard):"]
    for letter, address, kind in zip(letters, "abc", loop.takes, strict=False):
        lines.append(f"    {letter}s = {VIEWS[kind]}({address}, n)")
    lines += [f"    ds = {VIEWS[loop.gives]}(d, n)", "    wrong = 0", "    for i in range(n):"]
    lines += [f"        {letter} = {letter}s[i]" for letter in letters]
    lines.append(f"        ds[i] = {loop.expression}")
    if loop.refuses:
        lines.append(f"        wrong |= {loop.refuses}")
    lines += ["    if wrong:", "        i64(status, 1)[0] = REFUSED"]
    return kernel(written(name, "\n".join(lines) + "\n", _NAMES))


_TWO_PHASES = """
def {name}(d, a, b, c, n, status, hard):
    xs = f32(a, n)
    ds = f32(d, n)
    left = 0
    for i in range(n):
        x = xs[i]
        inside = {inside}
        v = {function}(np.float64(x if inside else F1))
        low = np.float32(v * {below})
        high = np.float32(v * {above})
        ds[i] = low if inside else {outside}
        left |= inside & (low != high)
    if left:
        {name}_left(xs, ds, n, status, hard)
"""
_DECIDED = """
def {name}_left(xs, ds, n, status, hard):
    known = i64(hard + {place} * 8, 2 * HARD + 1)
    for i in range(n):
        x = xs[i]
        inside = {inside}
        v = {function}(np.float64(x if inside else F1))
        if inside and np.float32(v * {below}) != np.float32(v * {above}):
            found = 0
            for j in range(known[0]):
                if known[1 + 2 * j] == np.int64(bits_of(x)):
                    ds[i] = float_of(np.int32(known[2 + 2 * j]))
                    found = 1
            if not found:
                told = i64(status, 3)
                told[1] = {number}
                told[2] = np.int64(bits_of(x))
                told[0] = UNDECIDED
"""


def _two_phases(function: str, number: int, name: str) -> Callable[..., Any]:
    bound, inside, outside = LIMITS[function]
    given = {
        "name": name,
        "function": function,
        "below": repr(1 - bound),
        "above": repr(1 + bound),
        "inside": inside,
        "outside": outside,
        "number": number,
        "place": number * (2 * HARD + 1),
    }
    slow = kernel(written(f"{name}_left", _DECIDED.format(**given), _NAMES))
    names = {**_NAMES, f"{name}_left": slow}
    return kernel(written(name, _TWO_PHASES.format(**given), names))


FUNCTIONS: Final = tuple(LIMITS)
"""Functions with two phases by their number."""
_LOOPS = {
    **{(loop.name, loop.takes): _loop(loop, f"loop{i}") for i, loop in enumerate(LOOPS)},
    **{(f, "f"): _two_phases(f, i, f"phases{i}") for i, f in enumerate(FUNCTIONS)},
}
CODES: Final = {key: code for code, key in enumerate(_LOOPS)}
"""(operation, letters of what it takes) → its code."""


def _branches(low: int, high: int, indent: str) -> list[str]:
    """Write a binary search for a code."""
    if high - low == 1:
        return [f"{indent}f{low}(d, a, b, c, n, status, hard)"]
    middle = (low + high) // 2
    return [
        f"{indent}if code < {middle}:",
        *_branches(low, middle, indent + " "),
        f"{indent}else:",
        *_branches(middle, high, indent + " "),
    ]


def _dispatcher() -> Callable[..., Any]:
    head = "def apply(code, d, a, b, c, n, status, hard):"
    source = "\n".join([head, *_branches(0, len(_LOOPS), "    ")]) + "\n"
    return kernel(written("apply", source, {f"f{i}": f for i, f in enumerate(_LOOPS.values())}))


apply: Final = _dispatcher()
"""Apply the operation of a code to `n` elements at addresses a, b, c; write them to d."""

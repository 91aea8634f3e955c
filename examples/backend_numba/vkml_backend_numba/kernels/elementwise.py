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

from vkml_backend_numba.compiling import LOOP, Separate, kernel
from vkml_backend_numba.kernels import doubles, memory, scalars, thread
from vkml_backend_numba.kernels.operations import LIMITS, LOOPS, VIEWS, Loop

_HELPERS: Final = ("bits_of", "float_of", "floor", "ceil", "trunc", "rint")
_WORDS: Final = ("ARGUMENT", "DECIDED", "FUNCTION", "HARD", "STOPPED", "UNDECIDED", "refuse")
_SCALARS: Final = ("F0", "F1", "NAN", "INF", "floored", "saturated", "log_end", "log1p_end")
_NAMES: Final[dict[str, Any]] = {
    **{n: getattr(memory, n) for n in (*VIEWS.values(), *_HELPERS)},
    **{n: getattr(doubles, n) for n in LIMITS},
    **{n: getattr(scalars, n) for n in _SCALARS},
    "math": math,
    "np": np,
    **{n: getattr(thread, n) for n in _WORDS},
    "LEAST": np.iinfo(np.int64).min,
    "MOST": np.iinfo(np.int64).max,
}


def written(name: str, source: str, names: Mapping[str, Any]) -> Callable[..., Any]:
    """Compile a function from its source, which tracebacks then show."""
    place = f"<vkml-numba {name}>"
    linecache.cache[place] = (len(source), None, source.splitlines(True), place)
    scope = {"__name__": __name__, **names}
    exec(compile(source, place, "exec"), scope)
    made: Callable[..., Any] = scope[name]
    return made


def _loop(loop: Loop) -> Separate:
    name = f"{loop.name}_{loop.takes}".replace(".", "_")
    letters = "xyz"[: len(loop.takes)]
    lines = [f"def {name}(d, a, b, c, n, thread):"]
    for letter, address, kind in zip(letters, "abc", loop.takes, strict=False):
        lines.append(f"    {letter}s = {VIEWS[kind]}({address}, n)")
    lines += [f"    ds = {VIEWS[loop.gives]}(d, n)", "    wrong = 0", "    for i in range(n):"]
    lines += [f"        {letter} = {letter}s[i]" for letter in letters]
    lines.append(f"        ds[i] = {loop.expression}")
    if loop.refuses:
        lines += [f"        wrong |= {loop.refuses}", "    if wrong:", "        refuse(thread)"]
    return Separate(written(name, "\n".join(lines) + "\n", _NAMES), LOOP)


_TWO_PHASES = """
def {name}(d, a, b, c, n, thread):
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
        {name}_left(xs, ds, n, thread)
"""
_DECIDED = """
def {name}_left(xs, ds, n, thread):
    words = i64(thread, 8)
    known = i64(words[DECIDED] + {place} * 8, 2 * HARD + 1)
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
                words[FUNCTION] = {number}
                words[ARGUMENT] = np.int64(bits_of(x))
                words[STOPPED] = UNDECIDED
"""


def _two_phases(function: str, number: int) -> Separate:
    bound, inside, outside = LIMITS[function]
    name = f"{function}_f"
    given = {
        "name": name,
        "function": function,
        "below": repr(1 - bound),
        "above": repr(1 + bound),
        "inside": inside,
        "outside": outside,
        "number": number,
        "place": number * (2 * thread.HARD + 1),
    }
    slow = kernel(written(f"{name}_left", _DECIDED.format(**given), _NAMES))
    names = {**_NAMES, f"{name}_left": slow}
    return Separate(written(name, _TWO_PHASES.format(**given), names), LOOP)


FUNCTIONS: Final = tuple(LIMITS)
"""Functions with two phases by their number."""
ELEMENTWISE: Final[dict[tuple[str, str], Separate]] = {
    **{(loop.name, loop.takes): _loop(loop) for loop in LOOPS},
    **{(f, "f"): _two_phases(f, i) for i, f in enumerate(FUNCTIONS)},
}
"""(operation, letters of what it takes) → its loop."""

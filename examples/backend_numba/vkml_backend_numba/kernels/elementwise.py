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
from typing import Any, Final, NamedTuple

import numpy as np

from vkml_backend_numba.compiling import kernel
from vkml_backend_numba.kernels import doubles, memory

VIEWS: Final = {"f": "f32", "i": "i32", "l": "i64", "b": "u8"}
"""Letters of the types of values, and the arrays that hold them."""
F0: Final = np.float32(0.0)
F1: Final = np.float32(1.0)
NAN: Final = np.float32(np.nan)
UNDECIDED: Final = 1
"""A rounding that the first phase leaves open; the program stops and the host decides."""
REFUSED: Final = 2
"""An index or a divisor that is an error."""


class Loop(NamedTuple):
    """An operation on some types: its result's letter, and an expression of x, y, z."""

    name: str
    takes: str
    gives: str
    expression: str
    refuses: str = ""
    """A condition that is an error."""


def _same(names: Mapping[str, str], letters: str, arity: int, gives: str = "") -> list[Loop]:
    return [Loop(n, t * arity, gives or t, e) for n, e in names.items() for t in letters]


_ARITHMETIC = {"add": "x + y", "sub": "x - y", "mul": "x * y"}
_COMPARISONS = {
    "equal": "x == y",
    "not_equal": "x != y",
    "less": "x < y",
    "less_equal": "x <= y",
    "greater": "x > y",
    "greater_equal": "x >= y",
}
_BITS = {"bitwise_and": "x & y", "bitwise_or": "x | y", "bitwise_xor": "x ^ y"}
_UNARY_FLOAT = {
    "neg": "-x",
    "abs": "float_of(bits_of(x) & 0x7FFFFFFF)",
    "sign": "F1 if x > F0 else (-F1 if x < F0 else F0)",
    "relu": "x if x > F0 or x != x else F0",
    "floor": "floor(x)",
    "ceil": "ceil(x)",
    "trunc": "trunc(x)",
    "round": "rint(x)",
    "sqrt": "math.sqrt(x)",
    "reciprocal": "F1 / x",
}
_UNARY_INTEGER = {
    "neg": "-x",
    "abs": "x if x >= 0 else -x",
    "sign": "1 if x > 0 else (-1 if x < 0 else 0)",
    "relu": "x if x > 0 else 0",
}
_FLOAT_MAX = "x if x > y or (x == y and bits_of(x) >= 0) or x != x else y"
_FLOAT_MIN = "x if x < y or (x == y and bits_of(x) < 0) or x != x else y"
_CASTS = {
    **{(t, t): "x" for t in VIEWS},
    **{(t, "b"): "x != 0" for t in "fil"},
    **{("b", t): "x" for t in "fil"},
    ("i", "f"): "np.float32(x)",
    ("l", "f"): "np.float32(x)",
    ("i", "l"): "x",
    ("l", "i"): "np.int32(x)",
    ("f", "i"): "saturated(x, 2147483648.0, -2147483648, 2147483647)",
    ("f", "l"): "saturated(x, 9223372036854775808.0, LEAST, MOST)",
}
LOOPS: Final[tuple[Loop, ...]] = (
    *_same(_ARITHMETIC, "fil", 2),
    Loop("div", "ff", "f", "x / y"),
    *_same(_COMPARISONS, "filb", 2, "b"),
    *_same(_BITS, "ilb", 2),
    *_same({"bitwise_not": "~x"}, "il", 1),
    Loop("bitwise_not", "b", "b", "x ^ 1"),
    *_same(_UNARY_FLOAT, "f", 1),
    *_same(_UNARY_INTEGER, "il", 1),
    Loop("isnan", "f", "b", "x != x"),
    Loop("isinf", "f", "b", "(bits_of(x) & 0x7FFFFFFF) == 0x7F800000"),
    Loop("maximum", "ff", "f", _FLOAT_MAX),
    Loop("minimum", "ff", "f", _FLOAT_MIN),
    *_same({"maximum": "x if x > y else y", "minimum": "x if x < y else y"}, "il", 2),
    *(Loop("floor_divide", t * 2, t, "floored(x, y)", "y == 0") for t in "il"),
    *(Loop("remainder", t * 2, t, "x - floored(x, y) * y", "y == 0") for t in "il"),
    *(Loop("where", "b" + t * 2, t, "y if x else z") for t in VIEWS),
    *(Loop(f"cast.{t}", s, t, e) for (s, t), e in _CASTS.items()),
)
LIMITS: Final = {
    "exp": (2.0**-49, "x == x", "NAN"),
    "exp2": (2.0**-49, "x == x", "NAN"),
    "expm1": (2.0**-48, "(x == x) & (x != F0)", "x"),
    "sigmoid": (2.0**-48, "x == x", "NAN"),
    "tanh": (2.0**-48, "(x == x) & (x != F0)", "x"),
    "erf": (2.0**-48, "(x == x) & (x != F0)", "x"),
    "erfc": (2.0**-47, "x == x", "NAN"),
    "log": (2.0**-47, "(x > F0) & (x < INF)", "log_end(x)"),
    "log2": (2.0**-47, "(x > F0) & (x < INF)", "log_end(x)"),
    "log10": (2.0**-47, "(x > F0) & (x < INF)", "log_end(x)"),
    "log1p": (2.0**-47, "(x > -F1) & (x < INF) & (x != F0)", "log1p_end(x)"),
    "rsqrt": (2.0**-50, "(x > F0) & (x < INF)", "F1 / math.sqrt(x)"),
}
"""Functions with two phases: the bound of the first, where it holds, and the value elsewhere."""
HARD: Final = 256
"""Arguments of one function that the host has decided and that are looked up."""


@kernel
def floored(x, y):  # type: ignore[no-untyped-def]
    """Divide integers towards −∞; the least one by −1 wraps."""
    if y == -1:
        return -x
    if y == 0:
        return 0
    return x // y


@kernel
def saturated(x, bound, least, most):  # type: ignore[no-untyped-def]
    """Truncate a float32; too large saturates, NaN gives 0."""
    inside = abs(x) < bound
    whole = np.int64(x if inside else F0)
    return whole if inside else (most if x >= bound else (least if x <= -bound else 0))


@kernel
def log_end(x):  # type: ignore[no-untyped-def]
    """Give a logarithm of what is not positive and finite."""
    return -INF if x == F0 else (INF if x == INF else NAN)


@kernel
def log1p_end(x):  # type: ignore[no-untyped-def]
    """Give log1p of what is not between −1 and ∞, or of a zero."""
    return x if x == F0 or x == INF else (-INF if x == -F1 else NAN)


INF: Final = np.float32(np.inf)
_NAMES: Final[dict[str, Any]] = {
    **{n: getattr(memory, n) for n in (*VIEWS.values(), "bits_of", "float_of", "floor", "ceil", "trunc", "rint")},
    **{n: getattr(doubles, n) for n in LIMITS},
    **{n: globals()[n] for n in ("F0", "F1", "NAN", "INF", "floored", "saturated", "math", "np")},
    **{n: globals()[n] for n in ("UNDECIDED", "REFUSED", "HARD", "log_end", "log1p_end")},
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
    open = 0
    for i in range(n):
        x = xs[i]
        inside = {inside}
        v = {function}(np.float64(x if inside else F1))
        low = np.float32(v * {below})
        high = np.float32(v * {above})
        ds[i] = low if inside else {outside}
        open |= inside & (low != high)
    if open:
        {name}_open(xs, ds, n, status, hard)
"""
_DECIDED = """
def {name}_open(xs, ds, n, status, hard):
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
    slow = kernel(written(f"{name}_open", _DECIDED.format(**given), _NAMES))
    names = {**_NAMES, f"{name}_open": slow}
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

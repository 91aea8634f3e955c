"""The element-wise operations: what each loop takes and gives, and its expression, as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

VIEWS: Final = {"f": "f32", "i": "i32", "l": "i64", "b": "u8"}
"""Letters of the types of values, and the arrays that hold them."""


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
LIMITS: Final[dict[str, tuple[float, str, str]]] = {
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

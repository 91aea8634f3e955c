"""Element-wise modules: the GLSL expression of every operation for every class of dtypes.

In an expression a, b and c are the operands: uint bits of a float32 (float16 comes widened and is
narrowed when it is stored) or of an int32, uvec2 words of an int64, bool. A NaN may have any bits:
all functions take it for one, and a store makes it canonical.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from vkml_backend_vulkan.shaders.table import Module

VALUE: Final = {"f32": "uint", "f16": "uint", "i32": "uint", "i64": "uvec2", "b8": "bool"}
"""The GLSL type of one element."""
_CLASSES: Final = {"f": ("f32", "f16"), "i32": ("i32",), "i64": ("i64",), "b8": ("b8",)}

Row = dict[str, str]
Expression = tuple[str, tuple[str, ...], str, str]
_ARITHMETIC: Final[dict[str, Row]] = {
    "neg": {"f": "a ^ 0x80000000u", "i32": "0u - a", "i64": "i64_neg(a)"},
    "abs": {"f": "a & 0x7fffffffu", "i32": "i32_abs(a)", "i64": "i64_abs(a)"},
    "sign": {"f": "f32_sign(a)", "i32": "i32_sign(a)", "i64": "i64_sign(a)"},
    "relu": {"f": "f32_relu(a)", "i32": "i32_relu(a)", "i64": "i64_relu(a)"},
    "floor": {"f": "f32_floor(a)"},
    "ceil": {"f": "f32_ceil(a)"},
    "round": {"f": "f32_round(a)"},
    "trunc": {"f": "f32_trunc(a)"},
    "add": {"f": "raw_add(a, b)", "i32": "a + b", "i64": "i64_add(a, b)"},
    "sub": {"f": "raw_sub(a, b)", "i32": "a - b", "i64": "i64_sub(a, b)"},
    "mul": {"f": "raw_mul(a, b)", "i32": "a * b", "i64": "i64_mul(a, b)"},
    "div": {"f": "f_div(a, b)"},
    "maximum": {
        "f": "f32_maximum(a, b)",
        "i32": "i32_maximum(a, b)",
        "i64": "i64_maximum(a, b)",
    },
    "minimum": {
        "f": "f32_minimum(a, b)",
        "i32": "i32_minimum(a, b)",
        "i64": "i64_minimum(a, b)",
    },
    "floor_divide": {
        "f": "f32_floor_divide(a, b)",
        "i32": "i32_floor_divide(a, nonzero(b))",
        "i64": "i64_floordiv(a, nonzero(b))",
    },
    "remainder": {
        "f": "f32_remainder(a, b)",
        "i32": "i32_remainder(a, nonzero(b))",
        "i64": "i64_mod(a, nonzero(b))",
    },
    "pow": {
        "f": "f_pow(a, b)",
        "i32": "i32_power(is_negative(b) ? nonzero(a) : a, b)",
        "i64": "i64_power(is_negative(b.y) ? nonzero(a) : a, b)",
    },
    "bitwise_not": {"i32": "~a", "i64": "~a", "b8": "!a"},
    "bitwise_and": {"i32": "a & b", "i64": "a & b", "b8": "a && b"},
    "bitwise_or": {"i32": "a | b", "i64": "a | b", "b8": "a || b"},
    "bitwise_xor": {"i32": "a ^ b", "i64": "a ^ b", "b8": "a != b"},
}
"""Results have the dtype of the operands."""
_TESTS: Final[dict[str, Row]] = {
    "equal": {"f": "f32_equal(a, b)", "i32": "a == b", "i64": "a == b", "b8": "a == b"},
    "not_equal": {"f": "!f32_equal(a, b)", "i32": "a != b", "i64": "a != b", "b8": "a != b"},
    "less": {
        "f": "f32_less(a, b)",
        "i32": "int(a) < int(b)",
        "i64": "i64_less(a, b)",
        "b8": "!a && b",
    },
    "less_equal": {
        "f": "f32_less_equal(a, b)",
        "i32": "int(a) <= int(b)",
        "i64": "!i64_less(b, a)",
        "b8": "!a || b",
    },
    "greater": {
        "f": "f32_less(b, a)",
        "i32": "int(a) > int(b)",
        "i64": "i64_less(b, a)",
        "b8": "a && !b",
    },
    "greater_equal": {
        "f": "f32_less_equal(b, a)",
        "i32": "int(a) >= int(b)",
        "i64": "!i64_less(a, b)",
        "b8": "a || !b",
    },
    "isnan": {"f": "is_nan(a)"},
    "isinf": {"f": "(a & 0x7fffffffu) == 0x7f800000u"},
}
"""Results are bool."""
FILES: Final = {
    "EXP": ("exp", "exp2", "expm1", "sigmoid", "tanh"),
    "LOG": ("log", "log2", "log10", "log1p"),
    "TRIG": ("sin", "cos", "tan"),
    "ERF": ("erf", "erfc"),
    "POW": ("pow",),
}
"""The correctly rounded functions f_name of one float, and pow, by the file that has them."""
_FILE: Final = {op: name for name, ops in FILES.items() for op in ops}
FILED: Final = frozenset(_FILE)
EXPONENTIALS: Final = frozenset({"exp", "exp2", "sigmoid", "tanh"})
"""Functions with a first phase in exp_fast.glsl, which needs a table in shared memory."""
LOGARITHMS: Final = frozenset(FILES["LOG"])
"""The same in log_fast.glsl."""
SHARED: Final = {"prepare_powers": EXPONENTIALS, "prepare_logarithms": LOGARITHMS}
"""Functions that read a table in shared memory, by what fills it."""
TABULATED: Final = frozenset().union(*SHARED.values())
SECOND: Final = {op: f"f_{op}" for op in TABULATED} | {
    op: f"second_{op}" for op in ("div", "reciprocal", "sqrt", "rsqrt", "exp")
}
"""The second phases of functions that have a first one, first_…, here or in arith.glsl."""
SETTLED: Final = FILED | frozenset(SECOND)
"""Operations on floats whose NaN is the canonical one, whatever NaN they are given."""
_ELEMENTARY: Final[dict[str, Row]] = {
    "sqrt": {"f": "f_sqrt(a)"},
    "rsqrt": {"f": "f_rsqrt(a)"},
    "reciprocal": {"f": "f_recip(a)"},
    **{op: {"f": f"f_{op}(a)"} for op, file in _FILE.items() if file != "POW"},
}
FAILING: Final = frozenset({"floor_divide", "remainder", "pow"})
"""Operations that report a division by zero for integers."""


def fails(op: str, token: str) -> bool:
    """Whether the module of an operation can report an error."""
    return op in FAILING and not token.startswith("f")


def kernel(
    expression: str, operands: Sequence[str], result: str, *flags: str, **more: str
) -> Module:
    """Make a module of the element-wise template; operands and result by dtype token.

    `flags` are names to define: FAILS, and those of FILES; `more` are definitions.
    """
    defines = {"ARITY": str(len(operands)), "EXPRESSION": expression}
    for letter, token in zip("ABC", operands, strict=False):
        defines |= {
            f"{letter}_T": VALUE[token],
            f"LOAD_{letter}": f"load_{token}",
            f"LOAD4_{letter}": f"load4_{token}",
        }
    defines |= {"R_T": VALUE[result], "STORE": f"store4_{result}"}
    return Module("elementwise.comp", defines | dict.fromkeys(flags, "1") | more)


def _expressions(rows: dict[str, Row], result: str | None) -> Iterator[Expression]:
    for op, row in rows.items():
        for name, expression in row.items():
            for token in _CLASSES[name]:
                arity = 2 if "b" in _names(expression) else 1
                yield op, (token,) * arity, result or token, expression


def expressions() -> Iterator[Expression]:
    """Give (operation, tokens of the operands, token of the result, expression) of every row."""
    yield from _expressions(_ARITHMETIC, None)
    yield from _expressions(_TESTS, "b8")
    yield from _expressions(_ELEMENTARY, None)
    yield from (("where", ("b8", t, t), t, "a ? b : c") for t in VALUE)


def _module(op: str, operands: tuple[str, ...], result: str, expression: str) -> Module:
    token = operands[-1]
    return kernel(
        expression,
        operands,
        result,
        *(("FAILS",) if fails(op, token) else ()),
        *((_FILE[op],) if op in _FILE and token.startswith("f") else ()),
        **(_first_phase(op, operands) if op in SECOND else {}),
    )


def _first_phase(op: str, operands: tuple[str, ...]) -> dict[str, str]:
    """Only quotients may be NaN. Other float32 are stored as they are, as integers."""
    given = ", ".join("abc"[: len(operands)])
    token = operands[-1]
    plain = token == "f32" and op not in ("div", "reciprocal")
    return {
        "FIRST_PHASE": f"first_{op}({given}, results[i])",
        "STORE_FIRST": "store4_i32" if plain else f"store4_{token}",
    }


def _names(expression: str) -> set[str]:
    """Give the words of an expression."""
    return set("".join(c if c.isalnum() or c == "_" else " " for c in expression).split())


MODULES: Final[dict[str, Module]] = {
    f"elementwise.{op}.{operands[-1]}": _module(op, operands, result, expression)
    for op, operands, result, expression in expressions()
}
OPS: Final = frozenset(op for op, *_ in expressions())

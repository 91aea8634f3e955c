"""Modules of reductions and scans: how two elements combine, for each dtype.

Results are words: float16 gives float32 and bool gives int32, which a cast then narrows.
"""

from __future__ import annotations

from typing import Final

from vkml_backend_vulkan.shaders.table import Module

WORDS: Final = {"f32": "f32", "f16": "f32", "i32": "i32", "i64": "i64", "b8": "i32"}
"""The dtype token of what a reduction of each dtype gives."""
_ZERO: Final = {"f32": "0u", "i32": "0u", "i64": "uvec2(0u)"}
_ONE: Final = {"f32": "0x3f800000u", "i32": "1u", "i64": "uvec2(1u, 0u)"}
_LOWEST: Final = {"f32": "0xff800000u", "i32": "0x80000000u", "i64": "uvec2(0u, 0x80000000u)"}
_HIGHEST: Final = {
    "f32": "0x7f800000u",
    "i32": "0x7fffffffu",
    "i64": "uvec2(0xffffffffu, 0x7fffffffu)",
}
_ADD: Final = {"f32": "raw_add(a, b)", "i32": "((a) + (b))", "i64": "i64_add(a, b)"}
_MULTIPLY: Final = {"f32": "raw_mul(a, b)", "i32": "((a) * (b))", "i64": "i64_mul(a, b)"}
_LARGER: Final = {w: f"{w}_maximum(a, b)" for w in _ZERO}
_SMALLER: Final = {w: f"{w}_minimum(a, b)" for w in _ZERO}

_WHOLE: Final = {"sum": "f_canonical(from_zero(a))", "prod": "f_canonical(a)"}
"""What becomes of a float's sums and products in the end: canonical NaN, and a sum from +0 on is
never -0, though drivers take a sum with +0 for the other term."""

REDUCTIONS: Final = {
    "sum": (_ADD, _ZERO),
    "prod": (_MULTIPLY, _ONE),
    "amax": (_LARGER, _LOWEST),
    "amin": (_SMALLER, _HIGHEST),
}
QUADS, REST = ".quads", ".rest"
"""Ends of the names of kernels that read four lanes at a time, and that take what chunks gave."""
IN_QUADS: Final = frozenset((op, t) for op in ("sum", "amax", "amin") for t in ("f32", "i32"))
"""Operations and dtypes that can be read four lanes at a time."""
RESULTS: Final = tuple(sorted(set(WORDS.values())))
_NUMBERS: Final = ("f32", "f16", "i32", "i64")
_FLOAT_KEYS: Final = {
    "argmax": "nan_or(x, number(x))",
    "argmin": "nan_or(x, ~number(x))",
}
_INTEGER_KEYS: Final = {
    "i32": {"argmax": "int(x)", "argmin": "~int(x)"},
    "i64": {"argmax": "x", "argmin": "~x"},
}


def _words(token: str) -> dict[str, str]:
    """Define how elements are read and what holds a result."""
    wide = token == "i64"
    load = "uint(load_b8(P, I))" if token == "b8" else f"load_{token}(P, I)"
    return {
        "T": "uvec2" if wide else "uint",
        "RESULT": "U32x2" if wide else "U32",
        "LOAD(P, I)": load,
    }


def _folds(op: str, word: str) -> dict[str, str]:
    """Define how results are made of elements."""
    combine, identity = (row[word] for row in REDUCTIONS[op])
    whole = _WHOLE.get(op, "a") if word == "f32" else "a"
    return {"COMBINE(a, b)": combine, "IDENTITY": identity, "WHOLE(a)": whole}


def _reduction(op: str, token: str, template: str = "reduce.comp") -> Module:
    defines = _words(token) | _folds(op, WORDS[token])
    return Module(template, defines | ({"TREE": "1"} if op == "prod" else {}))


def _quads(op: str, token: str) -> Module:
    return Module("reduce_quads.comp", _folds(op, token))


def _arg_extreme(op: str, token: str) -> Module:
    wide = token == "i64"
    defines = {
        "V_T": "uvec2" if wide else "uint",
        "KEY_T": "uvec2" if wide else "int",
        "LOAD": f"load_{token}",
        "KEY": _INTEGER_KEYS.get(token, _FLOAT_KEYS)[op],
        "LESS(a, b)": "i64_less(a, b)" if wide else "((a) < (b))",
    }
    return Module("arg_extreme.comp", defines)


def _cumsum(token: str) -> Module:
    word = WORDS[token]
    add = f"f_canonical({_ADD[word]})" if word == "f32" else _ADD[word]
    return Module("cumsum.comp", _words(token) | {"ADD(a, b)": add, "ZERO": _ZERO[word]})


MODULES: Final[dict[str, Module]] = {
    **{f"reduce.{op}.{t}": _reduction(op, t) for op in REDUCTIONS for t in _NUMBERS},
    **{f"reduce.{op}.{t}{QUADS}": _quads(op, t) for op, t in IN_QUADS},
    **{
        f"reduce.{op}.{t}{REST}": _reduction(op, t, "reduce_rest.comp")
        for op in REDUCTIONS
        for t in RESULTS
    },
    **{f"reduce.{op}.b8": _reduction(op, "b8") for op in ("amax", "amin")},
    **{f"reduce.{op}.{t}": _arg_extreme(op, t) for op in _FLOAT_KEYS for t in _NUMBERS},
    **{f"scan.cumsum.{t}": _cumsum(t) for t in _NUMBERS},
}

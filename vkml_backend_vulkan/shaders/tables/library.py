"""The library that fused kernels are linked from, and their frame: from the element-wise rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from vkml_backend_vulkan.shaders.table import Module
from vkml_backend_vulkan.shaders.tables import cast, elementwise

_ONE: Final = elementwise.VALUE
_FOUR: Final = "[[dont_unroll]] for (uint i = 0u; i < 4u; i++)"
_EIGHT: Final = "[[dont_unroll]] for (uint i = 0u; i < 8u; i++)"
_TURN: Final = "{0} = {0}.yzwx;"
"""An element at a number known only when the kernel runs would be read from memory."""
LONG: Final = elementwise.SETTLED | {"remainder", "floor_divide"}
"""Long functions: a loop over the four elements holds their code once."""


def call_name(op: str, source: str, result: str) -> str:
    """Name a function, without what says of how many elements; `source` is the last operand's."""
    return f"cast_{source}_{result}" if op == "cast" else f"{op}_{source}"


def is_settled(function: str) -> bool:
    """Whether what a function gives can be stored as it is: a float32 whose NaN is canonical."""
    op, _, token = function.rpartition("_")
    return token == "f32" and op in elementwise.SETTLED


def _functions() -> Iterator[str]:
    """Give the GLSL of each operation and dtype that cannot fail."""
    for op, operands, result, expression in elementwise.expressions():
        if not elementwise.fails(op, operands[-1]):
            yield _scalar(call_name(op, operands[-1], result), operands, result, expression)
            yield _quad(op, call_name(op, operands[-1], result), operands, result)
            if op in LONG:
                yield _two(op, call_name(op, operands[-1], result), operands, result)
                yield _once(op, call_name(op, operands[-1], result), operands, result)
    for source, row in cast.EXPRESSIONS.items():
        for result, expression in row.items():
            name = call_name("cast", source, result)
            yield _scalar(name, (source,), result, expression)
            yield _quad("cast", name, (source,), result)


def _scalar(name: str, operands: tuple[str, ...], result: str, expression: str) -> str:
    given = ", ".join(f"const {_ONE[t]} {x}" for t, x in zip(operands, "abc", strict=False))
    return f"{_ONE[result]} call_{name}({given}) {{ return stored_{result}({expression}); }}\n"


def _quad(op: str, name: str, operands: tuple[str, ...], result: str) -> str:
    given = ", ".join(f"const Quad_{t} {x}" for t, x in zip(operands, "abc", strict=False))
    head = f"Quad_{result} quad_{name}({given})\n"
    one = _of_parts(name, operands)
    if op in LONG:
        return head + _in_turn(op, f"call_{name}", "abc"[: len(operands)], result)
    return head + f"{{ return quad({', '.join(one.format(f'{i}u') for i in range(4))}); }}\n"


def _once(op: str, name: str, operands: tuple[str, ...], result: str) -> str:
    """Give the function for values of whole rows, as rows.glsl says, its table being filled."""
    given = ", ".join(f"const {_ONE[t]} {x}" for t, x in zip(operands, "abc", strict=False))
    function, before = f"call_{name}", ""
    if op in elementwise.TABULATED:
        function = f"phases_{name}"
        before = (
            f"{_ONE[result]} {function}({given}) {{ uint r;\n"
            f"  return stored_{result}(first_{op}(a, r) ? r : {elementwise.SECOND[op]}(a)); }}\n"
        )
    done = f"{function}({', '.join('abc'[: len(operands)])})"
    return (
        f"{before}{_ONE[result]} once_{name}(const uint turn, {given})"
        f" {{ ROW_ONCE({done}, turn); }}\n"
    )


def _of_parts(name: str, operands: tuple[str, ...]) -> str:
    parts = ", ".join(f"part({x}, {{0}})" for _, x in zip(operands, "abc", strict=False))
    return f"call_{name}({parts})"


def _in_turn(op: str, call: str, letters: str, result: str) -> str:
    """A loop over the four; where there is a first phase, over what that leaves open."""
    given = "".join(f"uvec4 {x}_ = {x}; " for x in letters)
    parts = ", ".join(f"{x}_.x" for x in letters)
    turns = " ".join(_TURN.format(x) for x in ("r", "d", *(f"{x}_" for x in letters)))
    return (
        f"{{ uvec4 r = uvec4(0u); bvec4 d = bvec4(false); {_first(op, letters, '')}\n"
        f"  if (!all(d)) {{ {given}{_FOUR} {{\n"
        f"    if (!d.x) r.x = {elementwise.SECOND.get(op, call)}({parts}); {turns} }} }}\n"
        f"  return stored_{result}(r); }}\n"
    )


def _two(op: str, name: str, operands: tuple[str, ...], result: str) -> str:
    """Give the function of two quads: one loop for what is open in either."""
    letters = "abc"[: len(operands)]
    given = ", ".join(f"const uvec4 {x}, const uvec4 {x}2" for x in letters)
    copies = "".join(f"uvec4 {x}_ = {x}, {x}2_ = {x}2; " for x in letters)
    second = elementwise.SECOND.get(op, f"call_{name}")
    parts = ", ".join(f"{x}_.x" for x in letters)
    pairs = ("r, r2", "d, d2", *(f"{x}_, {x}2_" for x in letters))
    turns = " ".join(f"turn({pair});" for pair in pairs)
    return (
        f"Two two_{name}({given})\n"
        "{ uvec4 r = uvec4(0u), r2 = r; bvec4 d = bvec4(false), d2 = d; "
        f"{_first(op, letters, '')} {_first(op, letters, '2')}\n"
        f"  if (!(all(d) && all(d2))) {{ {copies}{_EIGHT} {{\n"
        f"    if (!d.x) r.x = {second}({parts}); {turns} }} }}\n"
        f"  return Two(stored_{result}(r), stored_{result}(r2)); }}\n"
    )


def _first(op: str, letters: str, number: str) -> str:
    """The first phase of the four, if there is one."""
    if op not in elementwise.SECOND:
        return ""
    given = {p: ", ".join(f"{x}{number}.{p}" for x in letters) for p in "xyzw"}
    calls = (f"d{number}.{p} = first_{op}({given[p]}, r{number}.{p});" for p in given)
    return " ".join(calls)


RESULTS: Final = {
    call_name(op, operands[-1], result): result
    for op, operands, result, _ in elementwise.expressions()
} | {
    call_name("cast", source, result): result
    for source, row in cast.EXPRESSIONS.items()
    for result in row
}
"""The dtype token of what each function gives."""
MODULES: Final[dict[str, Module]] = {
    "library": Module("library.comp", code="".join(_functions()), linked=True),
    "fused.elementwise": Module("fused.comp", linked=True),
}

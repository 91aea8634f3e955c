"""What is guessed of a result in a random graph: how large it gets, and whether it is finite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from vkml_conformance.domains import RANGES
from vkml_conformance.growth import Value
from vkml_core.dtypes import float16
from vkml_core.graph import Node
from vkml_core.ops.spec import Form, Kind, OpSpec
from vkml_core.shapes import size

_ADDING: Final = (Form.SUM, Form.CUMSUM, Form.WINDOW, Form.SCATTER)
_MULTIPLYING: Final = (Form.MATMUL, Form.CONV)
_ROUND_ONE: Final = ("tanh", "sin", "cos", "sigmoid", "erf", "erfc", "sign")
_HEATS: Final[dict[str, Callable[[Sequence[int]], int]]] = {
    **dict.fromkeys(_ROUND_ONE, lambda h: 1),
    **dict.fromkeys(("exp", "exp2", "expm1"), lambda h: 3 << min(h[0], 6) >> 1),
    **dict.fromkeys(("log", "log2", "log10", "log1p"), lambda h: 7),
    **dict.fromkeys(("reciprocal", "rsqrt"), lambda h: 12),
    "sqrt": lambda h: h[0] // 2 + 1,
    "mul": sum,
    "div": lambda h: h[0] + 12,
    "pow": lambda h: 48,
    "tan": lambda h: 12,
    "where": lambda h: max(h[1:]),
}
"""Heat of a result by the heats of its operands, where it is not about the largest of those."""
_RISKY: Final = frozenset({"div", "reciprocal", "pow", "remainder", "floor_divide"}) | {
    name for name, ranges in RANGES.items() if ranges[0].positive
}
"""Rows that give NaN or infinity for usual operands."""


def guess(spec: OpSpec, operands: Sequence[Value], made: Node) -> tuple[int, bool]:
    """Guess the heat of a result, and whether it is probably finite everywhere."""
    heat = min(_heat(spec, operands, made), 8 * made.dtype.itemsize - 1 if _whole(made) else 200)
    tame = all(v.tame for v in operands) and spec.name not in _RISKY
    return heat, tame and heat < (15 if made.dtype is float16 else 100)


def _whole(made: Node) -> bool:
    return not made.dtype.is_floating_point


def _heat(spec: OpSpec, operands: Sequence[Value], made: Node) -> int:
    heats = [v.heat for v in operands]
    largest = max(size(v.shape) for v in operands)
    if spec.name in _HEATS:
        return _HEATS[spec.name](heats)
    if spec.kind is Kind.GENERATE:
        return 31
    if spec.form in _MULTIPLYING:
        return sum(heats) + largest.bit_length() // 2
    if spec.form in _ADDING:
        return heats[0] + largest.bit_length() // 2
    if spec.form is Form.PROD:
        return largest // max(size(made.shape), 1)
    return max(heats) + (spec.form is not Form.EXACT)

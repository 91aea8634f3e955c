"""Rows of the element-wise operations: inputs of one shape and dtype, one result element each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from vkml_core.dtypes import ALL, FLOATS, INTS, NUMBERS, DType, bool_
from vkml_core.errors import DTypeError, ShapeError
from vkml_core.graph import Node, build, const
from vkml_core.ops.rules import (
    Rule,
    cast,
    check_equal,
    each,
    infer_bool,
    infer_same,
    mask,
)
from vkml_core.ops.spec import (
    Form,
    Infer,
    Kind,
    NotDifferentiable,
    OpSpec,
    Typed,
    attributes,
    register,
)

LN2: Final = math.log(2)
LN10: Final = math.log(10)
TWO_OVER_SQRT_PI: Final = 2 / math.sqrt(math.pi)
IS_BOOL: Final = NotDifferentiable("its result is bool")
IS_INTEGER: Final = NotDifferentiable("its result is an integer or bool")


def _row(
    name: str,
    doc: str,
    form: Form,
    dtypes: frozenset[DType],
    *rules: Rule,
    arity: int = 1,
    infer: Infer = infer_same,
    without: NotDifferentiable = IS_BOOL,
    attrs: type[Any] | None = None,
) -> None:
    vjp = each(*rules) if rules else without
    register(OpSpec(name, Kind.ELEMENTWISE, form, arity, dtypes, infer, vjp, doc, attrs))


def _x(node: Node) -> Node:
    return node.inputs[0]


def _b(node: Node) -> Node:
    return node.inputs[1]


def _zero(node: Node, g: Node) -> Node:
    return const(g, 0.0)


def _gauss(node: Node) -> Node:
    """2/√π · exp(−x²), the derivative of erf."""
    return build.exp(-(_x(node) * _x(node))) * TWO_OVER_SQRT_PI


# Unary, any real number.
_row("neg", "−x.", Form.EXACT, NUMBERS, lambda n, g: -g)
_row("abs", "|x|; its gradient at 0 is 0.", Form.EXACT, NUMBERS, lambda n, g: g * build.sign(_x(n)))
_row(
    "sign",
    "−1, 0 or 1; 0 for NaN, as in PyTorch.",
    Form.EXACT,
    NUMBERS,
    without=NotDifferentiable("its derivative is 0 wherever it exists"),
)
_row(
    "relu",
    "x if x > 0, NaN if NaN, else +0; its gradient at 0 is 0.",
    Form.EXACT,
    NUMBERS,
    lambda n, g: mask(build.greater(n, const(n, 0)), g),
)
for _name, _doc in {
    "floor": "The largest integer ≤ x.",
    "ceil": "The smallest integer ≥ x.",
    "round": "The nearest integer, ties to even.",
    "trunc": "The integer part, towards zero.",
}.items():
    _row(_name, _doc, Form.EXACT, FLOATS, _zero)

# Unary, correctly rounded.
_ROUNDED: Final[tuple[tuple[str, str, Rule], ...]] = (
    ("sqrt", "√x.", lambda n, g: g / (n * 2.0)),
    ("rsqrt", "1/√x.", lambda n, g: g * (n * n * n) * -0.5),
    ("reciprocal", "1/x.", lambda n, g: -(g * (n * n))),
    ("exp", "eˣ.", lambda n, g: g * n),
    ("exp2", "2ˣ.", lambda n, g: g * n * LN2),
    ("expm1", "eˣ − 1.", lambda n, g: g * (n + 1.0)),
    ("log", "Natural logarithm.", lambda n, g: g / _x(n)),
    ("log2", "Logarithm to base 2.", lambda n, g: g / (_x(n) * LN2)),
    ("log10", "Logarithm to base 10.", lambda n, g: g / (_x(n) * LN10)),
    ("log1p", "ln(1 + x).", lambda n, g: g / (_x(n) + 1.0)),
    ("sin", "Sine of x radians.", lambda n, g: g * build.cos(_x(n))),
    ("cos", "Cosine of x radians.", lambda n, g: -(g * build.sin(_x(n)))),
    ("tan", "Tangent of x radians.", lambda n, g: g * (n * n + 1.0)),
    ("tanh", "Hyperbolic tangent.", lambda n, g: g * (const(n, 1.0) - n * n)),
    ("sigmoid", "1/(1 + e⁻ˣ).", lambda n, g: g * ((const(n, 1.0) - n) * n)),
    ("erf", "2/√π · ∫₀ˣ e^(−t²) dt.", lambda n, g: g * _gauss(n)),
    ("erfc", "1 − erf(x).", lambda n, g: -(g * _gauss(n))),
)
for _name, _doc, _rule in _ROUNDED:
    _row(_name, _doc, Form.ROUNDED, FLOATS, _rule)


# Binary.
def _pow_base(node: Node, g: Node) -> Node:
    """g · y · x^(y−1), and 0 where y = 0 and 1/x is not finite."""
    x, y = node.inputs
    zero, smallest = const(y, 0.0), const(x, float(np.finfo(x.dtype.numpy).tiny))
    steep = build.bitwise_not(build.greater_equal(build.abs(x), smallest))
    flat = build.bitwise_and(build.equal(y, zero), steep)
    # The power sees 1 where the answer is 0, so that no 0 · ∞ reaches a higher derivative.
    safe = build.where(flat, const(y, 1.0), y)
    return build.where(flat, const(g, 0.0), g * (y * build.pow(x, safe - 1.0)))


def _pow_exponent(node: Node, g: Node) -> Node:
    """g · x^y · ln x, and 0 where x = 0 and y ≥ 0."""
    x, y = node.inputs
    zero = const(x, 0.0)
    flat = build.bitwise_and(build.equal(x, zero), build.greater_equal(y, zero))
    # The logarithm sees 1 where the answer is 0, so that no 0 · ∞ reaches a higher derivative.
    safe = build.where(flat, const(x, 1.0), x)
    return build.where(flat, const(g, 0.0), g * (node * build.log(safe)))


def _first_wins(node: Node, g: Node, loses: Node, first: bool) -> Node:
    zero = const(g, 0.0)
    return build.where(loses, zero, g) if first else build.where(loses, g, zero)


_BINARY: Final[tuple[tuple[str, str, Form, frozenset[DType], tuple[Rule, ...]], ...]] = (
    ("add", "a + b.", Form.ROUNDED, NUMBERS, (lambda n, g: g, lambda n, g: g)),
    ("sub", "a − b.", Form.ROUNDED, NUMBERS, (lambda n, g: g, lambda n, g: -g)),
    (
        "mul",
        "a · b.",
        Form.ROUNDED,
        NUMBERS,
        (lambda n, g: g * _b(n), lambda n, g: g * _x(n)),
    ),
    (
        "div",
        "a / b.",
        Form.ROUNDED,
        FLOATS,
        (lambda n, g: g / _b(n), lambda n, g: -(g * (n / _b(n)))),
    ),
    ("pow", "a to the power b.", Form.POW, NUMBERS, (_pow_base, _pow_exponent)),
    (
        "maximum",
        "The larger; NaN if either is NaN, −0 < +0; a tie's gradient goes to the first.",
        Form.EXACT,
        NUMBERS,
        (
            lambda n, g: _first_wins(n, g, build.less(_x(n), _b(n)), True),
            lambda n, g: _first_wins(n, g, build.less(_x(n), _b(n)), False),
        ),
    ),
    (
        "minimum",
        "The smaller; NaN if either is NaN, −0 < +0; a tie's gradient goes to the first.",
        Form.EXACT,
        NUMBERS,
        (
            lambda n, g: _first_wins(n, g, build.less(_b(n), _x(n)), True),
            lambda n, g: _first_wins(n, g, build.less(_b(n), _x(n)), False),
        ),
    ),
    (
        "floor_divide",
        "The floor of a / b, exact in the sense of `remainder`.",
        Form.WRITTEN,
        NUMBERS,
        (_zero, _zero),
    ),
    (
        "remainder",
        "a − b·⌊a/b⌋ computed exactly, with the sign of b.",
        Form.WRITTEN,
        NUMBERS,
        (lambda n, g: g, lambda n, g: -(g * build.floor_divide(_x(n), _b(n)))),
    ),
)
for _name, _doc, _form, _dtypes, _rules in _BINARY:
    _row(_name, _doc, _form, _dtypes, *_rules, arity=2)

# Comparisons and tests: bool results.
for _name, _doc in {
    "equal": "a = b; false if either is NaN.",
    "not_equal": "a ≠ b; true if either is NaN.",
    "less": "a < b; false if either is NaN.",
    "less_equal": "a ≤ b; false if either is NaN.",
    "greater": "a > b; false if either is NaN.",
    "greater_equal": "a ≥ b; false if either is NaN.",
}.items():
    _row(_name, _doc, Form.EXACT, ALL, arity=2, infer=infer_bool)
_row("isnan", "Whether x is NaN.", Form.EXACT, FLOATS, infer=infer_bool)
_row("isinf", "Whether x is +∞ or −∞.", Form.EXACT, FLOATS, infer=infer_bool)

# Bits.
_BITS: Final = INTS | {bool_}
_row("bitwise_not", "Each bit turned.", Form.INTEGER, _BITS, without=IS_INTEGER)
for _name, _doc in {
    "bitwise_and": "Bits set in both.",
    "bitwise_or": "Bits set in either.",
    "bitwise_xor": "Bits set in one only.",
}.items():
    _row(_name, _doc, Form.INTEGER, _BITS, arity=2, without=IS_INTEGER)


# Choice and conversion.
def _infer_where(inputs: Sequence[Node], attrs: Any) -> Typed:
    condition, a, b = inputs
    if condition.shape != a.shape:
        raise ShapeError(f"where: condition {condition.shape} and values {a.shape} differ")
    check_equal(a, b)
    return a.shape, a.dtype


_row(
    "where",
    "a where the condition holds, else b.",
    Form.EXACT,
    frozenset({bool_}),
    lambda n, g: const(g, 0.0),
    lambda n, g: mask(_x(n), g),
    lambda n, g: build.where(_x(n), const(g, 0.0), g),
    arity=3,
    infer=_infer_where,
)


@attributes
class Cast:
    """The dtype to convert to."""

    dtype: DType


def _infer_cast(inputs: Sequence[Node], attrs: Cast) -> Typed:
    if not isinstance(attrs.dtype, DType):
        raise DTypeError(f"cast: {attrs.dtype!r} is not a dtype")
    return inputs[0].shape, attrs.dtype


_row(
    "cast",
    "Converts: floats round to nearest even; float to int truncates, saturates, NaN gives 0.",
    Form.ROUNDED,
    ALL,
    lambda n, g: cast(g, _x(n).dtype),
    infer=_infer_cast,
    attrs=Cast,
)

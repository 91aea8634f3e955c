"""Element-wise functions: those of the registry, derived, and compositions of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from vkml_core.dtypes import INTS, DType, bool_, float32, promote_scalar
from vkml_core.errors import ArgumentError
from vkml_core.functional.common import (
    Operand,
    float_arg,
    number_arg,
    operands,
    result_dtype,
    scalar_arg,
    tensor_arg,
    wrap,
)
from vkml_core.graph import apply, build
from vkml_core.ops.rules import cast, expand
from vkml_core.ops.spec import REGISTRY, Kind, OpSpec
from vkml_core.public import PUBLIC, public
from vkml_core.shapes import broadcast
from vkml_core.tensor import Tensor

ON_BOOL: Final = {
    "add": "bitwise_or",
    "mul": "bitwise_and",
    "maximum": "bitwise_or",
    "minimum": "bitwise_and",
}
"""What PyTorch's arithmetic means for two bool tensors."""
ROUNDINGS: Final = ("floor", "ceil", "round", "trunc")
"""They give integers back as they are."""


def _unary(spec: OpSpec) -> Callable[[Tensor], Tensor]:
    needs_float = all(t.is_floating_point for t in spec.dtypes)

    def function(input: Tensor) -> Tensor:
        x = tensor_arg(input, f"{spec.name}: input").node
        if spec.name in ROUNDINGS and x.dtype in INTS:
            return wrap(x)
        if needs_float and not x.dtype.is_floating_point:
            x = cast(x, float32)
        return wrap(apply(spec, (x,)))

    return function


def _binary(spec: OpSpec) -> Callable[[Operand, Operand], Tensor]:
    needs_float = all(t.is_floating_point for t in spec.dtypes)

    def function(input: Operand, other: Operand) -> Tensor:
        if isinstance(input, Tensor) and isinstance(other, Tensor):
            a, b = input.node, other.node
            if a.shape == b.shape and a.dtype is b.dtype and a.dtype in spec.dtypes:
                return wrap(apply(spec, (a, b)))  # nothing to promote or broadcast
        dtype = result_dtype(spec.name, input, other)
        if needs_float and not dtype.is_floating_point:
            dtype = float32
        row = spec
        if dtype is bool_:
            row = REGISTRY[ON_BOOL.get(spec.name, spec.name)]
        a, b = operands(spec.name, dtype, input, other)
        return wrap(apply(row, (a, b)))

    return function


_MAKERS: Final[dict[int | None, Callable[[OpSpec], Callable[..., Tensor]]]] = {
    1: _unary,
    2: _binary,
}


def _derive() -> None:
    """Make a public function of every element-wise row that takes nothing but tensors."""
    for spec in REGISTRY.values():
        if spec.kind is Kind.ELEMENTWISE and spec.attrs is None and spec.arity in _MAKERS:
            function = _MAKERS[spec.arity](spec)
            function.__name__ = function.__qualname__ = spec.name
            function.__doc__ = f"{spec.doc[:-1]}; {spec.form.value}."
            function.__module__ = __name__
            public(name=spec.name)(function)


_derive()


def call(name: str, *args: object) -> Tensor:
    """Call a public function by name."""
    result: Tensor = PUBLIC[name].function(*args)
    return result


@public()
def square(input: Tensor) -> Tensor:
    """x · x."""
    return call("mul", input, input)


@public()
def logical_not(input: Tensor) -> Tensor:
    """Whether x is 0."""
    return call("equal", tensor_arg(input, "logical_not: input"), 0)


@public(method=False)
def where(condition: Tensor, input: Operand, other: Operand) -> Tensor:
    """Give `input` where `condition` (bool) holds, else `other`; all three broadcast."""
    test = tensor_arg(condition, "where: condition")
    values = [v for v in (input, other) if isinstance(v, Tensor)]
    if test.dtype is not bool_:
        test = call("not_equal", test, 0)
    dtype = result_dtype("where", input, other) if values else _number_dtype(input, other)
    shape = broadcast("where", test.shape, *(v.shape for v in values))
    a, b, _ = operands("where", dtype, input, other, test)
    return wrap(build.where(expand(test.node, shape), a, b))


def _number_dtype(*values: object) -> DType:
    dtype = bool_
    for v in values:
        number_arg(v, "where: value")
        dtype = promote_scalar(dtype, v)  # type: ignore[arg-type]
    return dtype


@public()
def masked_fill(input: Tensor, mask: Tensor, value: Operand) -> Tensor:
    """Give `value` where `mask` holds, else `input`; the dtype stays."""
    x = tensor_arg(input, "masked_fill: input")
    number = value if isinstance(value, Tensor) else scalar_arg(value, "masked_fill: value")
    fill = wrap(operands("masked_fill", x.dtype, x, number)[1])
    return where(mask, fill, x)


@public()
def clamp(input: Tensor, min: Operand | None = None, max: Operand | None = None) -> Tensor:
    """minimum(maximum(x, min), max); NaN stays NaN; at the bounds the gradient passes."""
    x = tensor_arg(input, "clamp: input")
    if min is None and max is None:
        raise ArgumentError("clamp: give min, max or both")
    if min is not None:
        x = call("maximum", x, min)
    return x if max is None else call("minimum", x, max)


@public()
def clamp_min(input: Tensor, min: Operand) -> Tensor:
    """maximum(x, min)."""
    return clamp(input, min=min)


@public()
def clamp_max(input: Tensor, max: Operand) -> Tensor:
    """minimum(x, max)."""
    return clamp(input, max=max)


@public()
def gelu(input: Tensor) -> Tensor:
    """x · (0.5 · erfc(−x · √½)), the exact form of Hendrycks and Gimpel (2016)."""
    x = float_arg(input, "gelu: input")
    return x * (call("erfc", -x * 0.70710678118654752) * 0.5)


@public()
def silu(input: Tensor) -> Tensor:
    """x · sigmoid(x)."""
    x = float_arg(input, "silu: input")
    return x * call("sigmoid", x)


@public()
def leaky_relu(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """x where x > 0, else negative_slope · x."""
    x = float_arg(input, "leaky_relu: input")
    return where(x > 0, x, x * number_arg(negative_slope, "leaky_relu: negative_slope"))


@public()
def elu(input: Tensor, alpha: float = 1.0) -> Tensor:
    """x where x > 0, else alpha · (eˣ − 1); Clevert et al. (2015)."""
    x = float_arg(input, "elu: input")
    below = call("expm1", call("minimum", x, 0.0)) * number_arg(alpha, "elu: alpha")
    return where(x > 0, x, below)


@public()
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """ln(1 + e^(beta·x)) / beta, and x itself where beta · x > threshold."""
    x = float_arg(input, "softplus: input")
    scale, limit = number_arg(beta, "softplus: beta"), number_arg(threshold, "softplus: threshold")
    if scale <= 0:
        raise ArgumentError(f"softplus: beta must be > 0, got {scale}")
    y = x * scale
    curve = call("log1p", call("exp", call("minimum", y, limit))) / scale
    return where(y > limit, x, curve)


@public()
def scaled_add(input: Tensor, other: Operand, alpha: float = 1.0, beta: float = 1.0) -> Tensor:
    """Alpha · input + beta · other, each step rounded."""
    x = tensor_arg(input, "scaled_add: input")
    a, b = number_arg(alpha, "scaled_add: alpha"), number_arg(beta, "scaled_add: beta")
    if not isinstance(other, Tensor):
        return x * a + number_arg(other, "scaled_add: other") * b
    return x * a + other * b

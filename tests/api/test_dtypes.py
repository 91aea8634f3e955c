"""Result dtypes are PyTorch's among the five, for every pair and every operator."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest
import torch

import vkml

from .support import DTYPES, TORCH

ARITHMETIC = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "floor_divide": operator.floordiv,
    "remainder": operator.mod,
    "pow": operator.pow,
}
COMPARE = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
}
BITS = {
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
}
OPERATORS = ARITHMETIC | COMPARE | BITS
SCALARS = (True, 2, 2.0, np.float32(2), np.int64(2), np.True_)
PAIRS = list(itertools.product(DTYPES, DTYPES))


def _theirs(function: Any, a: Any, b: Any) -> torch.dtype | type[Exception]:
    if function is operator.sub and torch.result_type(a, b) is not torch.bool:
        return torch.result_type(a, b)  # PyTorch refuses to subtract bools even from numbers
    if function is operator.pow and torch.result_type(a, b) is torch.bool:
        return TypeError  # PyTorch gives bool ** True, but no power of two bool tensors
    try:
        result = function(a, b)
    except (RuntimeError, NotImplementedError):
        return TypeError
    return result.dtype


def _ours(function: Any, a: Any, b: Any) -> torch.dtype | type[Exception]:
    try:
        return TORCH[function(a, b).realize().dtype]
    except vkml.DTypeError:
        return TypeError


def _ones(dtype: vkml.DType, *shape: int) -> tuple[vkml.Tensor, torch.Tensor]:
    return vkml.ones(shape, dtype=dtype), torch.ones(shape, dtype=TORCH[dtype])


@pytest.mark.parametrize("ranks", [(1, 1), (1, 0), (0, 1), (0, 0)])
@pytest.mark.parametrize("name", OPERATORS)
def test_tensor_with_tensor(name: str, ranks: tuple[int, int]) -> None:
    for a, b in PAIRS:
        (x, tx), (y, ty) = (_ones(d, *[2] * rank) for d, rank in zip((a, b), ranks, strict=True))
        want = _theirs(OPERATORS[name], tx, ty)
        assert _ours(OPERATORS[name], x, y) == want, (name, a, b)
        assert _ours(getattr(vkml, name), x, y) == want, (name, a, b)


@pytest.mark.parametrize("name", OPERATORS)
def test_tensor_with_number(name: str) -> None:
    function = OPERATORS[name]
    for dtype, number in itertools.product(DTYPES, SCALARS):
        x, tx = _ones(dtype, 2)
        plain = number.item() if isinstance(number, np.generic) else number
        assert _ours(function, x, number) == _theirs(function, tx, plain), (name, dtype, number)
        if not isinstance(number, np.generic):
            want = _theirs(function, number, tx)
            assert _ours(function, number, x) == want, (name, number, dtype)


@pytest.mark.parametrize("name", ["maximum", "minimum", "where", "cat", "stack"])
def test_functions_that_promote(name: str) -> None:
    test, their_test = vkml.tensor([True, False]), torch.tensor([True, False])
    ours: dict[str, Any] = {
        "where": lambda a, b: vkml.where(test, a, b),
        "cat": lambda a, b: vkml.cat([a, b]),
        "stack": lambda a, b: vkml.stack([a, b]),
    }
    theirs: dict[str, Any] = {
        "where": lambda a, b: torch.where(their_test, a, b),
        "cat": lambda a, b: torch.cat([a, b]),
        "stack": lambda a, b: torch.stack([a, b]),
    }
    for a, b in PAIRS:
        (x, tx), (y, ty) = _ones(a, 2), _ones(b, 2)
        want = _theirs(theirs.get(name, getattr(torch, name)), tx, ty)
        assert _ours(ours.get(name, getattr(vkml, name)), x, y) == want, (name, a, b)


def test_promotion_is_that_of_result_type() -> None:
    for a, b in PAIRS:
        assert TORCH[(vkml.zeros(1, dtype=a) * vkml.zeros(1, dtype=b)).dtype] == torch.result_type(
            torch.zeros(1, dtype=TORCH[a]), torch.zeros(1, dtype=TORCH[b])
        )


REDUCTIONS = ("sum", "prod", "amax", "amin", "argmax", "argmin", "all", "any", "cumsum", "mean")


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name: str) -> None:
    for dtype in DTYPES:
        if dtype is vkml.bool_ and name.startswith("arg"):
            continue  # PyTorch has none for bool, vkml counts False < True
        x, tx = _ones(dtype, 2)
        args = (0,) if name == "cumsum" else ()
        want = _theirs(lambda t, a, n=name: getattr(torch, n)(t, *a), tx, args)
        assert _ours(lambda t, a, n=name: getattr(vkml, n)(t, *a), x, args) == want, (name, dtype)


UNARY = ["neg", "abs", "sign", "relu", "floor", "ceil", "round", "trunc", "sqrt", "rsqrt"]
UNARY += ["reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos"]
UNARY += ["tan", "tanh", "sigmoid", "erf", "erfc", "isnan", "isinf", "square", "logical_not"]
UNARY += ["bitwise_not"]
OTHER_ON_BOOL: dict[str, Any] = {
    "sign": TypeError,
    "square": torch.bool,
    **dict.fromkeys(("floor", "ceil", "round", "trunc"), torch.float32),
}
"""PyTorch: bool, int64, and an error."""


@pytest.mark.parametrize("name", UNARY)
def test_unary(name: str) -> None:
    for dtype in DTYPES:
        x, tx = _ones(dtype, 2)
        want = _theirs(lambda t, _: getattr(torch, name)(t), tx, None)
        if dtype is vkml.bool_:
            want = OTHER_ON_BOOL.get(name, want)
        assert _ours(lambda t, _: getattr(vkml, name)(t), x, None) == want, (name, dtype)

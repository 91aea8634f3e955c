"""Element-wise rows and reductions as cases."""

from __future__ import annotations

from typing import Final

import torch

import vkml

from .case import Case, apart, given, positive, real, same, unit

UNARY: Final = (
    *(same(name, real(2, 3)) for name in ("neg", "abs", "relu", "exp", "exp2", "expm1")),
    *(same(name, real(2, 3)) for name in ("sin", "cos", "tanh", "sigmoid", "erf", "erfc")),
    *(same(name, apart(2, 3)) for name in ("floor", "ceil", "round", "trunc")),
    *(same(name, positive(2, 3)) for name in ("sqrt", "rsqrt", "reciprocal", "log", "log2")),
    *(same(name, positive(2, 3)) for name in ("log10", "log1p")),
    same("tan", unit(2, 3)),
)

BINARY: Final = (
    same("add broadcast", real(2, 3), real(3)),
    same("sub broadcast", real(2, 1), real(1, 3)),
    same("mul broadcast", real(2, 1, 3), real(2, 1)),
    same("div broadcast", real(2, 3), positive(1)),
    same("pow", positive(2, 2), real(2, 2)),
    Case(
        "pow of any base to whole numbers",
        lambda m, x: m.stack([x**3, x**2, x**-2, x**1, x**0]),
        (real(3),),
    ),
    Case(
        "pow to the powers 0 and 1",
        lambda m, x, y: m.pow(x, y),
        (positive(3), given(0.0, 0.0, 1.0)),
        lambda x, y: torch.exp(y * torch.log(x)),
    ),
    Case(
        "pow of zero to whole numbers",
        lambda m, x: m.stack([x**3, x**2, x**1, x**0, x**4]),
        (given([0.0, 2.0]),),
    ),
    same("maximum", real(2, 3), real(2, 3)),
    same("minimum", real(2, 3), real(2, 3)),
    Case(
        "floor_divide",
        lambda m, a, b: m.floor_divide(a, b),
        (real(2, 3), positive(2, 3)),
        lambda a, b: torch.div(a, b, rounding_mode="floor"),
    ),
    same("remainder", real(2, 3), positive(2, 3)),
    Case(
        "where",
        lambda m, a, b: m.where(m.tensor([True, False, True]), a, b),
        (real(2, 3), real(2, 1)),
    ),
    Case(
        "cast to float16 and back",
        lambda m, x: x.to(vkml.float16).to(vkml.float32),
        (apart(2, 3),),
        lambda x: x,
    ),
)

REDUCTIONS: Final = (
    Case("sum of two axes", lambda m, x: m.sum(x, (0, 2)), (real(2, 3, 2),)),
    Case("sum kept", lambda m, x: m.sum(x, 1, True), (real(2, 3),)),
    Case("prod of an odd number", lambda m, x: m.prod(x, 1), (real(2, 5),)),
    Case("prod of all", lambda m, x: m.prod(x), (real(2, 3),)),
    Case(
        "prod with zeros",
        lambda m, x: m.prod(x, 1),
        (
            given(
                [
                    [1.5, -0.5, 2.0, 0.75],
                    [1.5, 0.0, 2.0, 0.75],
                    [0.0, -0.5, 0.0, 0.75],
                    [0, 0, 0, 1.5],
                ]
            ),
        ),
    ),
    Case(
        "prod of two outer axes",
        lambda m, x: m.prod(x, (0, 2)),
        (real(2, 2, 3),),
        lambda x: torch.prod(torch.prod(x, 2), 0),
    ),
    Case("amax", lambda m, x: m.amax(x, 1), (apart(2, 4),)),
    Case("amin of two axes", lambda m, x: m.amin(x, (0, 2), True), (apart(2, 3, 2),)),
    Case("cumsum", lambda m, x: m.cumsum(x, 1), (real(2, 3, 2),)),
    Case("mean", lambda m, x: m.mean(x, (0, 1)), (real(2, 3, 2),)),
    Case("var", lambda m, x: m.var(x, 1), (real(2, 4),)),
    Case("var biased", lambda m, x: m.var(x, (0, 1), correction=0), (real(2, 4),)),
    Case("std", lambda m, x: m.std(x, 1, keepdim=True), (real(2, 4),)),
    Case("logsumexp", lambda m, x: m.logsumexp(x, (0, 1)), (real(2, 3),)),
)


ELEMENTWISE_ROWS: Final = (*UNARY, *BINARY, *REDUCTIONS)

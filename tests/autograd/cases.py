"""Every differentiable row and composition as a function of tensors, with PyTorch's equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from zlib import crc32

import numpy as np
import torch
import torch.nn.functional as F

import vkml
from vkml import Tensor
from vkml_core.graph import build

from .evaluate import Array

Maker = Callable[[np.random.Generator], Array]


@dataclass(frozen=True)
class Case:
    """`function(m, *inputs)` works with m = vkml, and with m = TORCH where no reference is given.

    The name's first word is the row or public function that the case is about.
    """

    name: str
    function: Callable[..., Any]
    inputs: tuple[Maker, ...]
    reference: Callable[..., Any] | None = None

    def arrays(self) -> list[Array]:
        """Give the inputs: float32 numbers that depend on the name only."""
        rng = np.random.default_rng(crc32(self.name.encode()))
        return [make(rng).astype(np.float32) for make in self.inputs]

    def of_torch(self, *inputs: Any) -> Any:
        """Compute the outputs with PyTorch."""
        if self.reference is not None:
            return self.reference(*inputs)
        return self.function(TORCH, *inputs)


class _Torch:
    """PyTorch's functions, wherever they live."""

    def __getattr__(self, name: str) -> Any:
        return getattr(F, name, None) or getattr(torch, name)


TORCH: Final = _Torch()


def real(*shape: int) -> Maker:
    """Make numbers between −2 and 2."""
    return lambda rng: rng.uniform(-2, 2, shape)


def positive(*shape: int) -> Maker:
    """Make numbers between ½ and 2."""
    return lambda rng: rng.uniform(0.5, 2, shape)


def unit(*shape: int) -> Maker:
    """Make numbers between −0.9 and 0.9."""
    return lambda rng: rng.uniform(-0.9, 0.9, shape)


def apart(*shape: int) -> Maker:
    """Make different multiples of ⅛, none of them a multiple of ¼."""

    def make(rng: np.random.Generator) -> Array:
        n = int(np.prod(shape))
        return ((rng.permutation(n) - n // 2) * 0.75 + 0.375).reshape(shape)

    return make


def given(*values: Any) -> Maker:
    """Give these numbers."""
    return lambda rng: np.array(values[0] if len(values) == 1 else values)


def row(name: str, *inputs: Tensor, **attrs: Any) -> Tensor:
    """Record one row."""
    return Tensor(getattr(build, name)(*(t.node for t in inputs), **attrs))


def ints(values: Any) -> Tensor:
    """Make an int64 tensor."""
    return vkml.tensor(np.array(values, np.int64))


def same(name: str, *inputs: Maker) -> Case:
    return Case(name, lambda m, *xs: getattr(m, name.split()[0])(*xs), inputs)


def _pad_reference(x: Any, value: Any) -> Any:
    out = value.expand(9, 7).clone()
    out[2:8:2, 1:6] = x
    return out


def _adjoint(function: Callable[[Any], Any], shape: tuple[int, ...], g: Any) -> Any:
    """Give the gradient of a linear function, as something to differentiate again."""
    x = torch.ones(shape, dtype=torch.float64, requires_grad=True)
    return torch.autograd.grad(function(x), x, g, create_graph=True)[0]


def _conv_cases(name: str, image: tuple[int, int], w: tuple[int, ...], **g: Any) -> list[Case]:
    """Make cases of the three convolutions of one geometry."""
    x_shape = (2, w[1] * g["groups"], *image)
    probe = F.conv2d(torch.ones(x_shape), torch.ones(w), **g)
    y_shape = tuple(probe.shape)
    return [
        Case(
            f"conv2d {name}", lambda m, x, k: m.conv2d(x, k, None, **g), (real(*x_shape), real(*w))
        ),
        Case(
            f"conv2d_input_grad {name}",
            lambda m, y, k: row("conv2d_input_grad", y, k, image=image, **g),
            (real(*y_shape), real(*w)),
            lambda y, k: _adjoint(lambda x: F.conv2d(x, k, **g), x_shape, y),
        ),
        Case(
            f"conv2d_weight_grad {name}",
            lambda m, x, y: row("conv2d_weight_grad", x, y, kernel=w[2:], **g),
            (real(*x_shape), real(*y_shape)),
            lambda x, y: _adjoint(lambda k: F.conv2d(x, k, **g), w, y),
        ),
    ]


PLAIN: Final = {"stride": (1, 1), "padding": (0, 0), "dilation": (1, 1), "groups": 1}
WINDOW: Final = {"kernel": (2, 3), "stride": (2, 1), "padding": (1, 1), "dilation": (1, 2)}
UNFOLD: Final = {"kernel_size": (2, 3), "stride": (2, 1), "padding": (1, 1), "dilation": (1, 2)}
PLACES: Final = [[[[0, 3], [3, 8]], [[7, 7], [7, 2]]]]

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

MOVEMENT: Final = (
    Case("reshape", lambda m, x: m.reshape(x, (3, 4)), (real(2, 6),)),
    Case("view", lambda m, x: x.view(3, 4), (real(2, 6),)),
    Case("flatten", lambda m, x: m.flatten(x, 1), (real(2, 2, 2),)),
    Case("squeeze", lambda m, x: m.squeeze(x, 1), (real(2, 1, 2),)),
    Case("unsqueeze", lambda m, x: m.unsqueeze(x, -1), (real(2, 2),)),
    Case("permute", lambda m, x: m.permute(x, (2, 0, 1)), (real(2, 3, 2),)),
    Case("transpose", lambda m, x: m.transpose(x, 0, 2), (real(2, 3, 2),)),
    Case("broadcast_to", lambda m, x: m.broadcast_to(x, (2, 3, 2)), (real(3, 1),)),
    Case("expand", lambda m, x: x.expand(2, -1, 4), (real(3, 1),)),
    Case("slice with steps", lambda m, x: x[1:, ::2, 1:6:3], (real(3, 4, 7),)),
    Case(
        "slice backwards",
        lambda m, x: x[::-1, 5:0:-2],
        (real(3, 7),),
        lambda x: torch.flip(x, (0, 1))[:, 1:6:2],
    ),
    Case("slice of a slice", lambda m, x: x[:, 1:][1:, ::3], (real(3, 7),)),
    Case("contiguous", lambda m, x: row("contiguous", x.T), (real(2, 3),), lambda x: x.T.clone()),
    Case("contiguous function", lambda m, x: m.transpose(x, 0, 1).contiguous(), (real(2, 3),)),
    Case("cat", lambda m, a, b, c: m.cat([a, b, a, c], 1), (real(2, 1), real(2, 3), real(2, 2))),
    Case("stack", lambda m, a, b: m.stack([a, b, a], 1), (real(2, 2), real(2, 2))),
    Case("split", lambda m, x: m.split(x, (1, 0, 3), 1), (real(2, 4),)),
    Case("chunk", lambda m, x: m.chunk(x, 3, 1), (real(2, 5),)),
    Case(
        "pad between too",
        lambda m, x, v: row("pad", x, v, low=(2, 1), high=(2, 1), interior=(1, 0)),
        (real(3, 5), real()),
        _pad_reference,
    ),
    Case("pad", lambda m, x: m.pad(x, (1, -1, 0, 2), value=0.5), (real(2, 3),)),
    Case("flip", lambda m, x: m.flip(x, (0, 2)), (real(2, 3, 2),)),
    Case("repeat", lambda m, x: x.repeat(2, 1, 3), (real(3, 2),)),
    Case("tril", lambda m, x: m.tril(x, 1), (real(2, 3, 4),)),
    Case("triu", lambda m, x: m.triu(x, -1), (real(4, 3),)),
    Case("T", lambda m, x: x.T @ x, (real(2, 3),)),
)

INDEXING: Final = (
    Case(
        "gather repeated",
        lambda m, x: m.gather(x, 1, m.tensor([[0, 2, 2, 0], [1, 1, 1, 1]])),
        (real(3, 3),),
    ),
    Case(
        "scatter_add repeated",
        lambda m, x: m.scatter_add(x, 1, ints([[0, 3, 0], [1, 1, 1]]), 4),
        (real(2, 3),),
        lambda x: torch.zeros(2, 4, dtype=x.dtype).scatter_add(
            1, torch.tensor([[0, 3, 0], [1, 1, 1]]), x
        ),
    ),
    Case(
        "scatter_add by a vector",
        lambda m, x: m.scatter_add(x, 0, ints([2, 0, 2]), 4),
        (real(3, 2),),
        lambda x: torch.zeros(4, 2, dtype=x.dtype).index_add(0, torch.tensor([2, 0, 2]), x),
    ),
    Case(
        "index_select repeated",
        lambda m, x: m.index_select(x, 1, m.tensor([2, 0, 2, 2])),
        (real(2, 3, 2),),
    ),
    Case("getitem ints", lambda m, x: x[-1, None, ..., 0], (real(2, 3, 2),)),
    Case("getitem array", lambda m, x: x[:, [2, 0, 2, -1]], (real(2, 3, 2),)),
    Case("getitem two arrays", lambda m, x: x[[[0, 1], [1, 1]], :, [0, -1]], (real(2, 3, 2),)),
    Case(
        "getitem mask",
        lambda m, x: x[m.tensor([[True, False, True], [False, True, False]])],
        (real(2, 3),),
    ),
    Case(
        "getitem backwards and array",
        lambda m, x: x[::-1, [1, 1]],
        (real(3, 2),),
        lambda x: torch.flip(x, (0,))[:, [1, 1]],
    ),
    Case("sort", lambda m, x: m.sort(x, 1), (apart(2, 5),)),
    Case("sort down", lambda m, x: m.sort(x, 0, True), (apart(4, 2),)),
    Case("topk", lambda m, x: m.topk(x, 2, 1), (apart(2, 5),)),
    Case("topk smallest", lambda m, x: m.topk(x, 3, 0, False), (apart(5, 2),)),
    Case(
        "masked_fill",
        lambda m, x: m.masked_fill(x, m.tensor([True, False, True]), 2.0),
        (real(2, 3),),
    ),
)

LINEAR: Final = (
    same("matmul", real(2, 3), real(3, 4)),
    same("matmul batches", real(2, 1, 2, 3), real(3, 3, 2)),
    same("matmul rows", real(2, 2, 3), real(3, 2)),
    same("matmul vectors", real(3), real(3)),
    same("matmul matrix and vector", real(2, 2, 3), real(3)),
    same("matmul vector and matrix", real(3), real(2, 3, 2)),
)

CONVOLUTIONS: Final = (
    *_conv_cases("plain", (4, 3), (2, 2, 3, 2), **PLAIN),
    *_conv_cases(
        "strided over a remainder",
        (6, 4),
        (2, 1, 2, 2),
        **PLAIN | {"stride": (3, 2), "padding": (1, 0)},
    ),
    *_conv_cases(
        "grouped and dilated",
        (5, 4),
        (4, 1, 2, 2),
        **PLAIN | {"padding": (1, 2), "dilation": (2, 3), "groups": 2},
    ),
    Case(
        "conv2d bias",
        lambda m, x, w, b: m.conv2d(x, w, b, padding=1),
        (real(2, 2, 3, 3), real(2, 2, 3, 3), real(2)),
    ),
    Case(
        "im2col",
        lambda m, x: m.im2col(x, **WINDOW),
        (real(2, 2, 3, 5),),
        lambda x: F.unfold(x, **UNFOLD),
    ),
    Case(
        "col2im",
        lambda m, x: m.col2im(x, (3, 5), **WINDOW),
        (real(1, 12, 6),),
        lambda x: F.fold(x, (3, 5), **UNFOLD),
    ),
    Case(
        "max_pool2d overlapping",
        lambda m, x: m.max_pool2d(x, 3, 1, 1),
        (apart(1, 2, 4, 3),),
    ),
    Case(
        "max_pool2d dilated",
        lambda m, x: m.max_pool2d(x, (2, 2), (2, 1), (1, 0), (1, 2)),
        (apart(2, 1, 5, 5),),
    ),
    Case(
        "max_unpool2d repeated",
        lambda m, x: row("max_unpool2d", x, ints(PLACES), image=(3, 3)),
        (real(1, 2, 2, 2),),
        lambda x: (
            torch.zeros(1, 2, 9, dtype=x.dtype)
            .scatter_add(2, torch.tensor(PLACES).reshape(1, 2, 4), x.reshape(1, 2, 4))
            .reshape(1, 2, 3, 3)
        ),
    ),
    Case(
        "avg_pool2d overlapping",
        lambda m, x: m.avg_pool2d(x, (3, 2), 1, (1, 0)),
        (real(1, 2, 4, 3),),
    ),
    Case("avg_pool2d strided", lambda m, x: m.avg_pool2d(x, 2), (real(2, 1, 5, 4),)),
)

ROWS: Final = (
    *UNARY,
    *BINARY,
    *REDUCTIONS,
    *MOVEMENT,
    *INDEXING,
    *LINEAR,
    *CONVOLUTIONS,
)

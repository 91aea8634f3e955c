"""Matrix products, convolutions and pooling as cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import torch
import torch.nn.functional as F

from .case import Case, apart, ints, real, row, same


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
OVERLAPPING: Final = {
    "kernel": (3, 2),
    "stride": (2, 1),
    "padding": (1, 0),
    "dilation": (1, 1),
}
PLACES: Final = [[[[0, 3], [3, 8]], [[7, 7], [7, 2]]]]

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
        "max_pool2d_input_grad overlapping",
        lambda m, g, x: row("max_pool2d_input_grad", g, x, **OVERLAPPING),
        (real(1, 2, 2, 2), apart(1, 2, 4, 3)),
        lambda g, x: (
            torch.zeros(1, 2, 12, dtype=x.dtype)
            .scatter_add(
                2,
                F.max_pool2d(x, (3, 2), (2, 1), (1, 0), return_indices=True)[1].reshape(1, 2, 4),
                g.reshape(1, 2, 4),
            )
            .reshape(1, 2, 4, 3)
            + 0 * x
        ),
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


LINEAR_ROWS: Final = (*LINEAR, *CONVOLUTIONS)

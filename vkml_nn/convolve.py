"""Convolution as functions: what PyTorch's take beyond those of the core."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from vkml_core.errors import ArgumentError, ShapeError
from vkml_core.functional import conv
from vkml_core.functional.common import choice_arg, float_arg
from vkml_core.functional.joining import pad
from vkml_core.tensor import Tensor
from vkml_nn.arguments import spread_arg

PADDINGS: Final = ("valid", "same")
"""Words for paddings: none at all, and as much as keeps the size."""


def batched(op: str, input: Tensor, rank: int, function: Callable[[Tensor], Tensor]) -> Tensor:
    """Apply a function of batches to (N, C, …), or to one sample (C, …) of `rank` dimensions."""
    x = float_arg(input, f"{op}: input")
    if x.ndim == rank:
        return function(x.unsqueeze(0)).squeeze(0)
    if x.ndim != rank + 1:
        expected = "(N, C, H, W) or (C, H, W)" if rank == 3 else "(N, C, L) or (C, L)"
        raise ShapeError(f"{op}: input has shape {x.shape}, expected {expected}")
    return function(x)


def conv2d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlate (N, C, H, W) or (C, H, W) with weight (O, C/groups, kh, kw); add bias (O,).

    `padding` is an int, a pair, "valid" (none) or "same": as much as keeps the size at stride 1.
    """
    w = float_arg(weight, "conv2d: weight")
    steps = spread_arg(stride, "conv2d: stride", 2)
    holes = spread_arg(dilation, "conv2d: dilation", 2)

    def apply(x: Tensor) -> Tensor:
        space, extra = _padding(padding, w.shape[2:], steps, holes)
        wide = pad(x, extra) if any(extra) else x
        return conv.conv2d(wide, w, bias, steps, space, holes, groups)

    return batched("conv2d", input, 3, apply)


def _padding(
    padding: Any, kernel: tuple[int, ...], stride: tuple[int, ...], dilation: tuple[int, ...]
) -> tuple[Any, list[int]]:
    """Give the padding of both sides, and what the far sides (of W, then H) get in addition."""
    if not isinstance(padding, str):
        return padding, [0]
    if choice_arg(padding, "conv2d: padding", PADDINGS) == "valid":
        return 0, [0]
    if any(s != 1 for s in stride):
        raise ArgumentError(f"conv2d: padding 'same' needs stride 1, got {stride}")
    total = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    return [t // 2 for t in total], [0, total[1] % 2, 0, total[0] % 2]


def conv1d(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Tensor:
    """Cross-correlate (N, C, L) or (C, L) with weight (O, C/groups, k), then add bias (O,).

    It is `conv2d` of images of height 1; `padding` is an int, "valid" or "same".
    """
    w = float_arg(weight, "conv1d: weight")
    if w.ndim != 3:
        raise ShapeError(f"conv1d: weight has shape {w.shape}, expected (O, C/groups, k)")
    steps, holes = (_flat(v, what, 1) for v, what in ((stride, "stride"), (dilation, "dilation")))
    space = padding if isinstance(padding, str) else _flat(padding, "padding", 0)

    def apply(x: Tensor) -> Tensor:
        y = conv2d(x.unsqueeze(2), w.unsqueeze(2), bias, steps, space, holes, groups)
        return y.squeeze(2)

    return batched("conv1d", input, 2, apply)


def _flat(value: Any, what: str, height: int) -> tuple[int, int]:
    """Make a pair of a geometry of one dimension."""
    return height, spread_arg(value, f"conv1d: {what}", 1)[0]

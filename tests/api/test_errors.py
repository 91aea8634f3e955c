"""Wrong calls raise the typed error, and its message says what, got, expected and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vkml

F = vkml.ones(2, 3)
V = vkml.ones(3)
I = vkml.tensor([0, 1])
B = vkml.tensor([True, False, True])
H = vkml.ones(2, 3, dtype=vkml.float16)
IMAGE, KERNEL = vkml.ones(1, 2, 4, 4), vkml.ones(3, 2, 3, 3)
LEAF = vkml.ones(2, requires_grad=True)
LABELS = vkml.tensor([0, 2])

Row = tuple[Callable[[], Any], type[Exception], tuple[str, ...]]

SHAPES: tuple[Row, ...] = (
    (
        lambda: F + vkml.ones(2),
        vkml.ShapeError,
        ("add", "(2, 3)", "(2,)", "broadcast", "equal or 1"),
    ),
    (lambda: vkml.where(B, F, vkml.ones(4)), vkml.ShapeError, ("where", "(4,)", "broadcast")),
    (lambda: vkml.ones(1, 1, 1, 1, 1), vkml.ShapeError, ("ones", "rank 5", "at most 4", "reshape")),
    (lambda: vkml.ones(-1), vkml.ShapeError, ("ones", "(-1,)", "≥ 0")),
    (lambda: vkml.zeros(2**41), vkml.ShapeError, ("zeros", "2^40")),
    (lambda: vkml.tensor(np.ones((1,) * 5)), vkml.ShapeError, ("tensor", "rank 5", "at most 4")),
    (lambda: F.reshape(4), vkml.ShapeError, ("reshape", "(2, 3)", "6", "(4,)", "-1")),
    (lambda: F.reshape(-1, -1), vkml.ShapeError, ("reshape", "at most one")),
    (lambda: F.reshape(-1, 4), vkml.ShapeError, ("reshape", "(2, 3)", "(-1, 4)")),
    (lambda: F.reshape(-1, 0), vkml.ShapeError, ("reshape", "(2, 3)")),
    (lambda: F.permute(0), vkml.ShapeError, ("permute", "(0,)", "(2, 3)")),
    (lambda: F.permute(0, 0), vkml.ShapeError, ("permute", "(0, 0)")),
    (lambda: F.permute(0, 2), vkml.IndexError_, ("permute", "dim 2", "rank 2")),
    (lambda: F.transpose(0, 5), vkml.IndexError_, ("transpose", "dim 5", "-2 ≤ dim < 2")),
    (lambda: F.squeeze(4), vkml.IndexError_, ("squeeze", "dim 4")),
    (lambda: F.unsqueeze(4), vkml.IndexError_, ("unsqueeze", "dim 4")),
    (lambda: IMAGE.unsqueeze(0), vkml.ShapeError, ("unsqueeze", "rank 5")),
    (lambda: F.broadcast_to(2, 4), vkml.ShapeError, ("broadcast", "(2, 3)", "(2, 4)")),
    (lambda: F.expand(3), vkml.ShapeError, ("expand", "(3,)", "(2, 3)")),
    (lambda: F.expand(-1, 2, 3), vkml.ShapeError, ("expand", "leading")),
    (lambda: F.flatten(1, 0), vkml.ArgumentError, ("flatten", "start_dim 1", "end_dim 0")),
    (lambda: F.flip(2), vkml.IndexError_, ("flip", "dim 2")),
    (lambda: F.repeat(2), vkml.ShapeError, ("repeat", "(2,)", "(2, 3)")),
    (lambda: F.repeat(-1, 2), vkml.ShapeError, ("repeat", "≥ 0")),
    (lambda: vkml.cat([F, V]), vkml.ShapeError, ("cat", "(3,)", "(2, 3)")),
    (lambda: vkml.cat([]), vkml.ArgumentError, ("cat", "at least one")),
    (lambda: vkml.cat([vkml.tensor(1.0)]), vkml.ShapeError, ("cat", "rank-0", "stack")),
    (lambda: vkml.stack([F, V]), vkml.ShapeError, ("stack", "(3,)", "(2, 3)")),
    (lambda: F.split([1, 2]), vkml.ShapeError, ("split", "(1, 2)", "add up to 2")),
    (lambda: F.split(0), vkml.ArgumentError, ("split", "≥ 1")),
    (lambda: F.chunk(0), vkml.ArgumentError, ("chunk", "≥ 1", "got 0")),
    (lambda: F.pad((1,)), vkml.ShapeError, ("pad", "pairs")),
    (lambda: F.pad((1,) * 6), vkml.ShapeError, ("pad", "up to 2 pairs")),
    (lambda: F.pad((-2, -2)), vkml.ShapeError, ("pad", "below zero")),
    (lambda: F.pad((1, 1), mode="reflect"), vkml.ArgumentError, ("pad", "'reflect'", "'constant'")),
    (lambda: V.tril(), vkml.ShapeError, ("tril", "rank ≥ 2", "(3,)")),
    (lambda: F @ F, vkml.ShapeError, ("matmul", "(2, 3)", "3 ≠ 2", "did you mean b.T")),
    (lambda: F @ vkml.ones(4, 5), vkml.ShapeError, ("matmul", "(2, 3)", "(4, 5)", "3 ≠ 4")),
    (lambda: F @ vkml.tensor(1.0), vkml.ShapeError, ("matmul", "rank-0", "*")),
    (
        lambda: vkml.ones(2, 3, 4) @ vkml.ones(3, 4, 2),
        vkml.ShapeError,
        ("matmul", "broadcast", "2", "3"),
    ),
    (lambda: F.layer_norm((2,)), vkml.ShapeError, ("layer_norm", "(2,)", "(2, 3)")),
    (lambda: F.layer_norm(3), vkml.ShapeError, ("layer_norm", "1 to 2", "got 3")),
    (lambda: F.layer_norm(1, V[:2]), vkml.ShapeError, ("layer_norm", "weight", "(2,)", "(3,)")),
    (lambda: F.batch_norm(V[:2], V), vkml.ShapeError, ("batch_norm", "mean", "(2,)", "(3,)")),
    (lambda: V.batch_norm(V, V), vkml.ShapeError, ("batch_norm", "rank ≥ 2")),
    (lambda: vkml.conv2d(IMAGE, F), vkml.ShapeError, ("conv2d", "rank 4", "(2, 3)")),
    (
        lambda: vkml.conv2d(IMAGE, vkml.ones(3, 1, 2, 2)),
        vkml.ShapeError,
        ("conv2d", "2 channels", "groups=1"),
    ),
    (
        lambda: vkml.conv2d(IMAGE, KERNEL, groups=2),
        vkml.ShapeError,
        ("conv2d", "groups=2", "divisible"),
    ),
    (lambda: vkml.conv2d(IMAGE, KERNEL, V[:2]), vkml.ShapeError, ("bias", "(2,)", "(3,)")),
    (
        lambda: vkml.conv2d(IMAGE, KERNEL, dilation=2),
        vkml.ShapeError,
        ("conv2d", "(3, 3)", "does not fit", "(4, 4)"),
    ),
    (lambda: vkml.conv2d(IMAGE, KERNEL, stride=0), vkml.ShapeError, ("stride", "≥ 1")),
    (lambda: vkml.conv2d(IMAGE, KERNEL, padding=-1), vkml.ShapeError, ("padding", "≥ 0")),
    (lambda: vkml.conv2d(IMAGE, KERNEL, stride=(1, 1, 1)), vkml.ShapeError, ("stride", "two ints")),
    (lambda: vkml.max_pool2d(F, 2), vkml.ShapeError, ("max_pool2d", "rank 4", "(2, 3)")),
    (lambda: vkml.max_pool2d(IMAGE, 5), vkml.ShapeError, ("max_pool2d", "does not fit")),
    (lambda: vkml.max_pool2d(IMAGE, 2, padding=2), vkml.ShapeError, ("padding", "half")),
    (
        lambda: vkml.max_pool2d(vkml.ones(1, 1, 2, 2), 2, 1, 1, 3),
        vkml.ShapeError,
        ("max_pool2d", "dilation (3, 3)", "nothing but padding"),
    ),
    (lambda: vkml.avg_pool2d(IMAGE, 2, padding=2), vkml.ShapeError, ("padding", "half")),
    (lambda: vkml.im2col(F, 2), vkml.ShapeError, ("im2col", "rank 4")),
    (lambda: vkml.col2im(F, (4, 4), 2), vkml.ShapeError, ("col2im", "(2, 3)", "expected")),
    (
        lambda: vkml.scaled_dot_product_attention(V, V, V),
        vkml.ShapeError,
        ("scaled_dot_product_attention", "rank < 2"),
    ),
    (
        lambda: vkml.scaled_dot_product_attention(F, F, F, B, is_causal=True),
        vkml.ArgumentError,
        ("attn_mask", "is_causal", "not both"),
    ),
    (lambda: vkml.mse_loss(F, V), vkml.ShapeError, ("mse_loss", "(2, 3)", "(3,)", "equal")),
    (lambda: vkml.cross_entropy(F, I[:1]), vkml.ShapeError, ("cross_entropy", "(2,)", "got (1,)")),
    (
        lambda: vkml.cross_entropy(F, LABELS, weight=V[:2]),
        vkml.ShapeError,
        ("cross_entropy", "weight", "(2,)", "(3,)"),
    ),
    (lambda: vkml.nll_loss(vkml.tensor(1.0), I), vkml.ShapeError, ("nll_loss", "rank 0")),
    (lambda: F.gather(0, I), vkml.ShapeError, ("gather", "rank 1", "2")),
    (
        lambda: F.gather(0, vkml.zeros(1, 5, dtype=vkml.int64)),
        vkml.ShapeError,
        ("gather", "(1, 5)", "(2, 3)"),
    ),
    (
        lambda: F.index_select(0, vkml.zeros(1, 1, dtype=vkml.int64)),
        vkml.ShapeError,
        ("index_select", "rank 1"),
    ),
    (
        lambda: vkml.scatter_add(F, 0, vkml.tensor([0]), 3),
        vkml.ShapeError,
        ("scatter_add", "(2,)", "(1,)"),
    ),
    (lambda: F.item(), vkml.ShapeError, ("item", "(2, 3)", "6", "one")),
    (lambda: bool(F), vkml.ShapeError, ("bool", "(2, 3)")),
    (lambda: vkml.zeros(0, 3).amax(0), vkml.ShapeError, ("amax", "(0, 3)", "no element")),
    (lambda: vkml.zeros(0).argmax(), vkml.ShapeError, ("argmax", "no element")),
    (lambda: F.sum((0, 0)), vkml.ShapeError, ("sum", "twice")),
    (lambda: vkml.tensor([[1], [1, 2]]), vkml.ArgumentError, ("tensor", "array")),
)
DTYPES: tuple[Row, ...] = (
    (lambda: vkml.tensor(["a"]), vkml.DTypeError, ("tensor", "not supported", "float32")),
    (lambda: vkml.tensor(np.ones(1, np.uint8)), vkml.DTypeError, ("uint8", "int32")),
    (lambda: vkml.tensor(np.ones(1, np.complex64)), vkml.DTypeError, ("complex64", "float32")),
    (lambda: vkml.zeros(1, dtype="float64x"), vkml.DTypeError, ("float64x", "float32")),
    (lambda: F.to(np.int8), vkml.DTypeError, ("int8", "int32")),
    (lambda: F.astype("complex"), vkml.DTypeError, ("complex", "float32")),
    (lambda: B - B, vkml.DTypeError, ("sub", "bool_", "takes", "convert")),
    (lambda: -B, vkml.DTypeError, ("neg", "bool_", "convert")),
    (lambda: F & F, vkml.DTypeError, ("bitwise_and", "float32", "takes")),
    (lambda: ~F, vkml.DTypeError, ("bitwise_not", "float32")),
    (lambda: I.mean(), vkml.DTypeError, ("mean", "floating", "int64", ".to(")),
    (lambda: I.softmax(0), vkml.DTypeError, ("softmax", "int64", ".to(")),
    (lambda: I.gelu(), vkml.DTypeError, ("gelu", "int64")),
    (lambda: I.var(), vkml.DTypeError, ("var", "int64")),
    (lambda: I.dropout(), vkml.DTypeError, ("dropout", "int64")),
    (lambda: F.gather(0, H), vkml.DTypeError, ("gather", "float16", "int64")),
    (lambda: F.index_select(0, V), vkml.DTypeError, ("index_select", "float32", "int64")),
    (lambda: vkml.cross_entropy(F, V[:2]), vkml.DTypeError, ("labels", "float32", "int64")),
    (lambda: vkml.mse_loss(I, I), vkml.DTypeError, ("mse_loss", "int64", ".to(")),
    (lambda: vkml.conv2d(IMAGE.to(vkml.int64), KERNEL), vkml.DTypeError, ("conv2d", "int64")),
    (lambda: vkml.tensor([1], requires_grad=True), vkml.DTypeError, ("floating", "int64")),
    (lambda: vkml.randint(3, shape=(2,), dtype=bool), vkml.DTypeError, ("randint", "bool_")),
)
ARGUMENTS: tuple[Row, ...] = (
    (lambda: vkml.exp([1.0]), vkml.ArgumentTypeError, ("exp", "Tensor", "list", "vkml.tensor")),
    (lambda: vkml.add(1, 2), vkml.ArgumentTypeError, ("add", "at least one Tensor")),
    (lambda: vkml.add(F, "a"), vkml.ArgumentTypeError, ("add", "number", "str")),
    (lambda: vkml.cat(F), vkml.ArgumentTypeError, ("cat", "list of tensors")),
    (lambda: vkml.cat([F, 1]), vkml.ArgumentTypeError, ("cat", "tensor 1", "int")),
    (lambda: F.sum(dim="a"), vkml.ArgumentTypeError, ("sum", "dim", "str")),
    (lambda: F.sum(dim=1.0), vkml.ArgumentTypeError, ("sum", "dim", "float")),
    (lambda: F.sum(keepdim=1), vkml.ArgumentTypeError, ("keepdim", "True or False", "int")),
    (lambda: F.sum(dim=0, axis=0), vkml.ArgumentTypeError, ("sum", "both", "dim", "axis")),
    (lambda: F.sum(2), vkml.IndexError_, ("sum", "dim 2", "rank 2", "-2 ≤ dim < 2")),
    (lambda: vkml.tensor(1.0).amax(0, True).sum(1), vkml.IndexError_, ("dim",)),
    (lambda: F.cumsum(-3), vkml.IndexError_, ("cumsum", "dim -3")),
    (lambda: F.topk(4), vkml.IndexError_, ("topk", "k = 4", "size 3")),
    (lambda: F.clamp(), vkml.ArgumentError, ("clamp", "min", "max")),
    (lambda: F.dropout(1.5), vkml.ArgumentError, ("dropout", "0 to 1", "1.5")),
    (lambda: F.dropout(training=1), vkml.ArgumentTypeError, ("training", "True or False")),
    (lambda: F.softplus(beta=0), vkml.ArgumentError, ("softplus", "beta", "> 0")),
    (
        lambda: vkml.mse_loss(F, F, "avg"),
        vkml.ArgumentError,
        ("mse_loss", "reduction", "'avg'", "'mean'", "'sum'", "'none'"),
    ),
    (lambda: vkml.cross_entropy(F, LABELS, reduction=None), vkml.ArgumentError, ("'mean'", "None")),
    (
        lambda: vkml.cross_entropy(F, LABELS, label_smoothing=2.0),
        vkml.ArgumentError,
        ("label_smoothing", "0 to 1", "2.0"),
    ),
    (lambda: vkml.huber_loss(F, F, delta=0), vkml.ArgumentError, ("delta", "> 0")),
    (lambda: vkml.full((2,), "a"), vkml.ArgumentTypeError, ("full", "number", "str")),
    (lambda: vkml.full((2,), 2**40, dtype=vkml.int32), vkml.ArgumentError, ("int32", "wider")),
    (lambda: vkml.tensor([2**40], dtype=vkml.int32), vkml.ArgumentError, ("int32", "fit")),
    (lambda: vkml.tensor([np.nan], dtype=vkml.int32), vkml.ArgumentError, ("int32", "fit")),
    (lambda: vkml.tensor([2**70]), vkml.Error, ("tensor",)),
    (lambda: F.to(vkml.int64) + 2**70, vkml.ArgumentError, ("int64", "fit")),
    (lambda: vkml.arange(0, 5, 0), vkml.ArgumentError, ("arange", "step", "0")),
    (lambda: vkml.arange(float("nan")), vkml.ArgumentError, ("arange", "finite")),
    (lambda: vkml.linspace(0, 1, -1), vkml.ArgumentError, ("linspace", "steps", "≥ 0")),
    (lambda: vkml.linspace(0, 1, 2.0), vkml.ArgumentTypeError, ("steps", "float")),
    (lambda: vkml.eye("a"), vkml.ArgumentTypeError, ("eye", "str")),
    (lambda: vkml.randint(5, 5), vkml.ArgumentError, ("randint", "high")),
    (lambda: vkml.rand(2, seed=-1), vkml.ArgumentError, ("rand", "seed", "-1")),
    (lambda: vkml.manual_seed("a"), vkml.ArgumentTypeError, ("manual_seed", "str")),
    (lambda: vkml.manual_seed(-1), vkml.ArgumentError, ("manual_seed", "-1")),
    (lambda: vkml.from_numpy([1]), vkml.ArgumentTypeError, ("from_numpy", "ndarray", "list")),
    (lambda: vkml.realize(3), vkml.ArgumentTypeError, ("realize", "int")),
)
GRADIENTS: tuple[Row, ...] = (
    (lambda: (LEAF * 2).backward(), vkml.ShapeError, ("backward", "(2,)", ".sum()", "gradient=")),
    (lambda: F.sum().backward(), vkml.GradientError, ("backward", "requires_grad=True")),
    (lambda: LEAF.argmax().backward(), vkml.GradientError, ("argmax", "no gradient", "index")),
    (lambda: (LEAF > 1).backward(), vkml.GradientError, ("greater", "no gradient", "bool")),
    (lambda: (LEAF * 2).backward(V), vkml.ShapeError, ("gradient", "(3,)", "(2,)")),
    (lambda: (LEAF * 2).backward(3.0), vkml.ArgumentTypeError, ("gradient", "float", "Tensor")),
    (lambda: vkml.grad(LEAF.sum(), F), vkml.GradientError, ("input 0", "require a gradient")),
    (lambda: vkml.grad(F.sum(), LEAF), vkml.GradientError, ("require a gradient",)),
    (lambda: vkml.grad(LEAF.sum(), LEAF, [None, None]), vkml.ArgumentError, ("1", "2")),
    (lambda: LEAF.assign_(1.0), vkml.GradientError, ("assign_", "no_grad")),
    (lambda: (LEAF * 2).requires_grad_(False), vkml.GradientError, ("leaves", "detach")),
)
DEVICES: tuple[Row, ...] = (
    (lambda: vkml.ones(2, device="nonesuch"), vkml.DeviceError, ("nonesuch", "cpu")),
    (lambda: vkml.ones(2, device="cp"), vkml.DeviceError, ("cp", "cpu")),
    (lambda: vkml.tensor([1.0], device="cpu:99"), vkml.DeviceError, ("cpu:99",)),
    (lambda: F.to("cpu:"), vkml.DeviceError, ("cpu:", "backend:index")),
    (lambda: F.to(device=""), vkml.DeviceError, ("''", "backend")),
    (lambda: vkml.rand(2, device=3), vkml.DeviceError, ("3", "backend")),
)
TABLE = {
    f"{kind}-{i}": row
    for kind, rows in {
        "shapes": SHAPES,
        "dtypes": DTYPES,
        "arguments": ARGUMENTS,
        "gradients": GRADIENTS,
        "devices": DEVICES,
    }.items()
    for i, row in enumerate(rows)
}


@pytest.mark.parametrize("name", TABLE)
def test_error(name: str) -> None:
    call, error, words = TABLE[name]
    with pytest.raises(error) as caught:
        result = call()
        vkml.realize(*([result] if isinstance(result, vkml.Tensor) else result))
    assert isinstance(caught.value, vkml.Error)
    missing = [w for w in words if w not in str(caught.value)]
    assert not missing, str(caught.value)


def test_errors_are_the_matching_builtins() -> None:
    for error, builtin in (
        (vkml.ShapeError, ValueError),
        (vkml.ArgumentError, ValueError),
        (vkml.ArgumentTypeError, TypeError),
        (vkml.DTypeError, TypeError),
        (vkml.IndexError_, IndexError),
        (vkml.DivisionError, ZeroDivisionError),
        (vkml.GradientError, RuntimeError),
        (vkml.DeviceError, RuntimeError),
        (vkml.DeviceLost, vkml.DeviceError),
        (vkml.OutOfMemoryError, MemoryError),
        (vkml.UnsupportedOpError, NotImplementedError),
    ):
        assert issubclass(error, builtin) and issubclass(error, vkml.Error)
    assert vkml.NotImplementedError_ is vkml.UnsupportedOpError


def test_wrong_signatures_are_pythons_type_error() -> None:
    for call in (lambda: vkml.exp(), lambda: vkml.exp(F, F), lambda: F.sum(nonsense=1)):
        with pytest.raises(TypeError):
            call()


def test_unknown_names() -> None:
    with pytest.raises(AttributeError, match="nonesuch"):
        vkml.nonesuch  # noqa: B018
    with pytest.raises(AttributeError):
        vkml.ones(1).nonesuch  # noqa: B018

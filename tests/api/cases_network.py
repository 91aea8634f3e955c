"""Cases of matrix products, attention, convolution, pooling and losses."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from .case import Case, case
from .support import COMPOSED, OTHER, Tolerance, bools, distinct, ints, reals

PRODUCT = Tolerance(2e-6, 1e-6, 2e-3)


def matmul_cases() -> list[Case]:
    """Vectors, matrices, batches that broadcast, integers."""
    shapes = (
        ((3,), (3,)),
        ((2, 3), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((2, 3), (5, 3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((1, 2, 3), (5, 3, 4)),
        ((2, 1, 2, 3), (3, 3, 4)),
        ((2, 3, 2, 3), (3,)),
        ((3,), (2, 3, 4)),
        ((2, 0), (0, 3)),
        ((0, 2), (2, 3)),
        ((2, 3), (3, 0)),
        ((0, 2, 3), (3, 4)),
        ((2, 700), (700, 3)),
    )
    out = [case("matmul", reals(*a), reals(*b), tolerance=PRODUCT) for a, b in shapes]
    out += [case("matmul", ints(2, 3, dtype=t), ints(3, 4, dtype=t)) for t in (np.int32, np.int64)]
    half = reals(3, 5, dtype=np.float16), reals(5, 2, dtype=np.float16)
    return [*out, case("matmul", *half, tolerance=PRODUCT)]


def attention_cases() -> list[Case]:
    """Masks of both kinds, causal, scale, rank 2 to 4."""
    name, out = "scaled_dot_product_attention", []
    for lead in ((), (2,), (2, 3)):
        qkv = reals(*lead, 4, 5), reals(*lead, 6, 5), reals(*lead, 6, 3)
        mask = bools(4, 6)
        mask[:, 0] = True
        out.append(case(name, *qkv, tolerance=COMPOSED))
        out.append(case(name, *qkv, attn_mask=mask, tolerance=COMPOSED))
        out.append(case(name, *qkv, attn_mask=reals(4, 6), tolerance=COMPOSED))
        out.append(case(name, *qkv, is_causal=True, tolerance=COMPOSED))
        out.append(case(name, *qkv, scale=0.3, tolerance=COMPOSED))
    return out


def conv_cases() -> list[Case]:
    """conv2d: stride, padding, dilation, groups, bias, float16."""
    out = []
    for stride, padding, dilation, groups in (
        (1, 0, 1, 1),
        (2, 1, 1, 1),
        ((1, 2), (0, 1), 1, 1),
        (1, 2, 2, 1),
        ((2, 1), (1, 2), (1, 2), 2),
        (1, 1, 1, 4),
    ):
        x, w = reals(2, 4, 7, 6), reals(8, 4 // groups, 3, 2)
        args = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
        out.append(case("conv2d", x, w, tolerance=PRODUCT, **args))
        out.append(case("conv2d", x, w, reals(8), tolerance=PRODUCT, **args))
    half = reals(1, 2, 5, 5, dtype=np.float16), reals(3, 2, 3, 3, dtype=np.float16)
    out.append(case("conv2d", *half, tolerance=PRODUCT))
    out.append(case("conv2d", reals(0, 2, 4, 4), reals(3, 2, 2, 2), tolerance=PRODUCT))
    return out


def pool_cases() -> list[Case]:
    """max_pool2d and avg_pool2d."""
    out = []
    for kernel, stride, padding in (
        (2, None, 0),
        (3, 2, 1),
        ((2, 3), (1, 2), (1, 0)),
        (3, 1, (1, 0)),
    ):
        x = distinct(2, 3, 7, 6)
        out.append(case("max_pool2d", x, kernel, stride, padding, theirs=F.max_pool2d))
        out.append(case("max_pool2d", x, kernel, stride, padding, 2, theirs=F.max_pool2d))
        args = {"theirs": F.avg_pool2d, "tolerance": COMPOSED}
        out.append(case("avg_pool2d", x, kernel, stride, padding, **args))
    ties = np.zeros((1, 1, 4, 4), np.float32)
    nan = ties.copy()
    nan[0, 0, 1, 1], nan[0, 0, 2, 2], nan[0, 0, 3, 3] = np.nan, -np.inf, np.inf
    out += [case("max_pool2d", ties, 3, 1, theirs=F.max_pool2d)]
    out += [case("max_pool2d", nan, 2, 1, 1, theirs=F.max_pool2d, grad=False)]
    out += [case("max_pool2d", np.full((1, 1, 3, 3), -np.inf, np.float32), 2, theirs=F.max_pool2d)]
    return out


REDUCTIONS = ("mean", "sum", "none")


def loss_cases() -> list[Case]:
    """Losses of two tensors of one shape."""
    out = []
    for how, shape in itertools.product(REDUCTIONS, ((6,), (3, 4), (2, 3, 2, 2), ())):
        x, y = distinct(*shape), distinct(*shape, by=OTHER)
        args = {"reduction": how, "tolerance": COMPOSED}
        for name in ("mse_loss", "l1_loss", "huber_loss"):
            out.append(case(name, x, y, theirs=getattr(F, name), **args))
        out.append(case("huber_loss", x, y, theirs=F.huber_loss, delta=0.4, **args))
        p = reals(*shape, low=0.05, high=0.9)
        # mean of kl_div is PyTorch's own 'mean', which PyTorch warns about for every call.
        out.append(case("kl_div", x, p, theirs=_kl_div, **args))
        out.append(case("kl_div", x, y, theirs=_kl_div, log_target=True, **args))
        bce = "binary_cross_entropy_with_logits"
        logits = reals(*shape, low=-20, high=20)
        out.append(case(bce, logits, p, theirs=getattr(F, bce), **args))
        weights = {"weight": reals(*shape, low=0.1), "pos_weight": reals(*shape, low=0.1)}
        out.append(case(bce, logits, p, theirs=getattr(F, bce), **weights, **args))
    zero = np.array([0.0, 0.5, 0.0], np.float32)
    out.append(case("kl_div", reals(3), zero, theirs=_kl_div, tolerance=COMPOSED, grad=False))
    return out


def _kl_div(x: torch.Tensor, y: torch.Tensor, reduction: str = "mean", **rest: Any) -> torch.Tensor:
    loss = F.kl_div(x, y, reduction="none", **rest)
    return {"mean": torch.mean, "sum": torch.sum, "none": lambda t: t}[reduction](loss)


def label_cases() -> list[Case]:
    """nll_loss and cross_entropy: ranks, weights, ignored labels, smoothing."""
    out = []
    for shape, how in itertools.product(((4, 5), (2, 5, 3), (2, 5, 3, 2), (5,)), REDUCTIONS):
        x = reals(*shape)
        labels = ints(*(shape[:1] + shape[2:] if len(shape) > 1 else ()), low=0, high=5)
        some = labels.copy()
        if some.size > 1:
            some.flat[0] = -100
        weight = reals(5, low=0.2)
        args: dict[str, Any] = {"reduction": how, "tolerance": COMPOSED}
        for name in ("nll_loss", "cross_entropy"):
            theirs = getattr(F, name)
            out.append(case(name, x, labels, theirs=theirs, **args))
            out.append(case(name, x, some, theirs=theirs, weight=weight, **args))
            out.append(case(name, x, labels, theirs=theirs, ignore_index=2, **args))
        for smooth in (0.1, 1.0):
            args["label_smoothing"] = smooth
            out.append(case("cross_entropy", x, labels, theirs=F.cross_entropy, **args))
            out.append(
                case("cross_entropy", x, some, theirs=F.cross_entropy, weight=weight, **args)
            )
    ignored = np.full(3, -100)
    out.append(case("cross_entropy", reals(3, 4), ignored, theirs=F.cross_entropy, grad=False))
    out.append(case("nll_loss", reals(3, 4), ignored, theirs=F.nll_loss, reduction="sum"))
    out.append(case("cross_entropy", reals(3, 4), ints(3, low=0, high=4), tolerance=COMPOSED))
    return out


CASES = [
    *matmul_cases(),
    *attention_cases(),
    *conv_cases(),
    *pool_cases(),
    *loss_cases(),
    *label_cases(),
]

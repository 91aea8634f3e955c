"""The compositions that networks are made of, as cases."""

from __future__ import annotations

from typing import Any, Final

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

import vkml

from .case import Case, apart, given, positive, real, same, unit

LABELS: Final = [2, 0, 2, 1]
IGNORED: Final = [2, -1, 0, 1]
MASK: Final = [[True, True, False], [False, True, True]]


def _attention(q: Any, k: Any, v: Any, mask: Any = None, causal: bool = False) -> Any:
    """PyTorch's own attention, by the kernel that can be differentiated twice."""
    with sdpa_kernel(SDPBackend.MATH):
        return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal)


ELEMENTWISE: Final = (
    *(same(name, real(2, 3)) for name in ("gelu", "silu", "square", "leaky_relu")),
    Case("elu", lambda m, x: m.elu(x, 1.5), (apart(2, 3),)),
    Case("softplus", lambda m, x: m.softplus(x, 2.0, 1.5), (apart(2, 3),)),
    Case("clamp", lambda m, x: m.clamp(x, -0.6, 0.8), (apart(2, 3),)),
    Case(
        "clamp by tensors",
        lambda m, x, a, b: m.clamp(x, a, b),
        (real(2, 3), unit(3), positive(2, 1)),
    ),
    Case("clamp_min", lambda m, x: m.clamp_min(x, 0.5), (real(2, 3),)),
    Case("clamp_max", lambda m, x: m.clamp_max(x, 0.5), (real(2, 3),)),
    Case(
        "scaled_add",
        lambda m, a, b: m.scaled_add(a, b, 0.5, -1.5),
        (real(2, 3), real(3)),
        lambda a, b: 0.5 * a - 1.5 * b,
    ),
    Case("dropout with p 0", lambda m, x: m.dropout(x, 0.0), (real(2, 3),)),
    Case(
        "dropout",
        lambda m, x: m.dropout(x, 0.25, seed=7),
        (real(4, 3),),
        lambda x: x * torch.tensor(vkml.dropout(vkml.ones(4, 3), 0.25, seed=7).numpy()),
    ),
    Case("to", lambda m, x: x.to(m.float16).to(m.float32), (apart(2, 3),), lambda x: x),
    Case("astype", lambda m, x: x.astype("float16").astype("float32"), (apart(2, 3),), lambda x: x),
)

NORMALISATION: Final = (
    Case("softmax", lambda m, x: m.softmax(x, 1), (real(2, 4),)),
    Case("softmax over the first", lambda m, x: m.softmax(x, 0), (real(3, 2),)),
    Case("log_softmax", lambda m, x: m.log_softmax(x, -1), (real(2, 4),)),
    Case(
        "layer_norm",
        lambda m, x, w, b: m.layer_norm(x, (2, 3), w, b, eps=0.125),
        (real(2, 2, 3), real(2, 3), real(2, 3)),
    ),
    Case("layer_norm plain", lambda m, x: m.layer_norm(x, (4,)), (real(2, 4),)),
    Case("rms_norm", lambda m, x, w: m.rms_norm(x, (4,), w, eps=0.125), (real(2, 4), real(4))),
    Case(
        "batch_norm",
        lambda m, x, mean, var, w, b: m.batch_norm(x, mean, var, w, b, eps=0.125),
        (real(2, 2, 3), real(2), positive(2), real(2), real(2)),
        lambda x, mean, var, w, b: (
            (x - mean[:, None]) / torch.sqrt(var[:, None] + 0.125) * w[:, None] + b[:, None]
        ),
    ),
)

LOSSES: Final = (
    *(
        Case(
            f"{name} {how}",
            lambda m, x, y, name=name, how=how: getattr(m, name)(x, y, reduction=how),
            (real(2, 3), real(2, 3)),
        )
        for name in ("mse_loss", "l1_loss", "huber_loss")
        for how in ("mean", "sum", "none")
    ),
    Case(
        "huber_loss at 0", lambda m, x, y: m.huber_loss(x, y), (given(0.5, -1.0), given(0.5, -1.0))
    ),
    Case(
        "huber_loss delta", lambda m, x, y: m.huber_loss(x, y, delta=0.5), (real(2, 3), real(2, 3))
    ),
    Case("kl_div", lambda m, x, y: m.kl_div(x, y, reduction="sum"), (real(2, 3), positive(2, 3))),
    Case(
        "kl_div of logarithms",
        lambda m, x, y: m.kl_div(x, y, reduction="none", log_target=True),
        (real(2, 3), real(2, 3)),
    ),
    Case(
        "binary_cross_entropy_with_logits",
        lambda m, x, y: m.binary_cross_entropy_with_logits(x, y),
        (real(2, 3), positive(2, 3)),
    ),
    Case(
        "binary_cross_entropy_with_logits at 0",
        lambda m, x: m.binary_cross_entropy_with_logits(x, m.full((3,), 0.25)),
        (given(0.0, 0.0, 1.0),),
    ),
    Case(
        "binary_cross_entropy_with_logits weighted",
        lambda m, x, y: m.binary_cross_entropy_with_logits(
            x, y, reduction="sum", weight=m.tensor([1.0, 0.5, 2.0]), pos_weight=m.tensor(1.5)
        ),
        (real(2, 3), positive(2, 3)),
    ),
    Case(
        "binary_cross_entropy_with_logits weighted at 0",
        lambda m, x: m.binary_cross_entropy_with_logits(
            x, m.full((3,), 0.25), pos_weight=m.tensor(1.5)
        ),
        (given(0.0, 0.0, 1.0),),
    ),
    Case("nll_loss", lambda m, x: m.nll_loss(x, m.tensor(LABELS)), (real(4, 3),)),
    Case(
        "nll_loss weighted",
        lambda m, x, w: m.nll_loss(x, m.tensor(IGNORED), w, ignore_index=-1),
        (real(4, 3), positive(3)),
        lambda x, w: _nll_weighted(x, w),
    ),
    *(
        Case(
            f"cross_entropy {how}",
            lambda m, x, how=how: m.cross_entropy(x, m.tensor(LABELS), reduction=how),
            (real(4, 3),),
        )
        for how in ("mean", "sum", "none")
    ),
    Case(
        "cross_entropy weighted and smoothed",
        lambda m, x: m.cross_entropy(
            x,
            m.tensor(IGNORED),
            m.tensor([0.5, 2.0, 1.0]).to(x.dtype),
            ignore_index=-1,
            label_smoothing=0.25,
        ),
        (real(4, 3),),
    ),
    Case(
        "cross_entropy of images",
        lambda m, x: m.cross_entropy(x, m.tensor([[[2, 0], [1, 1]]]), label_smoothing=0.125),
        (real(1, 3, 2, 2),),
    ),
)


def _nll_weighted(x: Any, w: Any) -> Any:
    """Labels 2, 0 and 1 count, with their weights (which PyTorch does not differentiate)."""
    picked = torch.stack([x[0, 2] * w[2], x[2, 0] * w[0], x[3, 1] * w[1]])
    return -picked.sum() / w.sum()


ATTENTION: Final = (
    Case(
        "scaled_dot_product_attention",
        lambda m, q, k, v: m.scaled_dot_product_attention(q, k, v),
        (real(1, 2, 3), real(1, 3, 3), real(1, 3, 2)),
        _attention,
    ),
    Case(
        "scaled_dot_product_attention causal",
        lambda m, q, k, v: m.scaled_dot_product_attention(q, k, v, is_causal=True),
        (real(3, 2), real(3, 2), real(3, 2)),
        lambda q, k, v: _attention(q[None], k[None], v[None], causal=True)[0],
    ),
    Case(
        "scaled_dot_product_attention masked",
        lambda m, q, k, v: m.scaled_dot_product_attention(q, k, v, vkml.tensor(MASK)),
        (real(2, 2), real(3, 2), real(3, 2)),
        lambda q, k, v: _attention(q[None], k[None], v[None], torch.tensor(MASK))[0],
    ),
    Case(
        "scaled_dot_product_attention biased",
        lambda m, q, k, v, b: m.scaled_dot_product_attention(q, k, v, b),
        (real(2, 2), real(3, 2), real(3, 2), real(2, 3)),
        lambda q, k, v, b: _attention(q[None], k[None], v[None], b)[0],
    ),
)

COMPOSITIONS: Final = (*ELEMENTWISE, *NORMALISATION, *LOSSES, *ATTENTION)

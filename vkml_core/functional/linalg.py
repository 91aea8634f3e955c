"""Matrix products, and scaled dot-product attention built on them."""

from __future__ import annotations

import math

from vkml_core.dtypes import bool_
from vkml_core.errors import ArgumentError, ShapeError
from vkml_core.functional.common import (
    bool_arg,
    float_arg,
    number_arg,
    operands,
    result_dtype,
    same_device,
    tensor_arg,
    wrap,
)
from vkml_core.functional.elementwise import masked_fill
from vkml_core.functional.normal import softmax
from vkml_core.functional.shape import count
from vkml_core.graph import Node, build
from vkml_core.ops.rules import cast, expand, reshape
from vkml_core.public import public
from vkml_core.shapes import Shape, broadcast, check_shape, size
from vkml_core.tensor import Tensor


@public()
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """Matrix product of the last two dimensions; batches broadcast, vectors are rows or columns.

    >>> import vkml
    >>> vkml.matmul(vkml.ones(2, 3), vkml.ones(3)).tolist()
    [3.0, 3.0]
    """
    a, b = tensor_arg(input, "matmul: input"), tensor_arg(other, "matmul: other")
    if a.ndim == 0 or b.ndim == 0:
        raise ShapeError(f"matmul: rank-0 operand in {a.shape} and {b.shape}; use * for scalars")
    same_device("matmul", a, b)
    if a.shape[-1] != b.shape[-2 if b.ndim > 1 else 0]:
        raise ShapeError(_inner_message(a.shape, b.shape))
    dtype = result_dtype("matmul", a, b)
    left, right = cast(a.node, dtype), cast(b.node, dtype)
    rows = left if a.ndim > 1 else reshape(left, (1, a.shape[0]))
    cols = right if b.ndim > 1 else reshape(right, (b.shape[0], 1))
    product = _matrices(rows, cols)
    tail = (a.shape[-2:-1] if a.ndim > 1 else ()) + (b.shape[-1:] if b.ndim > 1 else ())
    return wrap(reshape(product, (*product.shape[:-2], *tail)))


def _matrices(a: Node, b: Node) -> Node:
    if len(b.shape) == 2 and len(a.shape) > 2:
        # One product over all rows: its gradients are single products too.
        rows = reshape(a, (size(a.shape[:-1]), a.shape[-1]))
        return reshape(build.matmul(rows, b), (*a.shape[:-1], b.shape[-1]))
    batch = broadcast("matmul", a.shape[:-2], b.shape[:-2])
    check_shape((*batch, a.shape[-2], b.shape[-1]), "matmul")
    return build.matmul(expand(a, (*batch, *a.shape[-2:])), expand(b, (*batch, *b.shape[-2:])))


def _inner_message(a: Shape, b: Shape) -> str:
    inner = b[-2] if len(b) > 1 else b[0]
    hint = "; did you mean b.T?" if len(b) == 2 and b[1] == a[-1] else ""
    return f"matmul: inner sizes differ: a {a} and b {b}, {a[-1]} ≠ {inner}{hint}"


@public(method=False)
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    is_causal: bool = False,
    scale: float | None = None,
) -> Tensor:
    """softmax(q kᵀ · scale + mask) v; Vaswani et al. (2017). scale is 1/√(last size of q).

    A bool mask is True where a key may be attended to; a float mask is added.
    """
    q, k, v = (
        float_arg(t, f"scaled_dot_product_attention: {name}")
        for t, name in ((query, "query"), (key, "key"), (value, "value"))
    )
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise ShapeError(f"scaled_dot_product_attention: rank < 2 in {q.shape} {k.shape} {v.shape}")
    if scale is None:
        factor = 1.0 / math.sqrt(max(q.shape[-1], 1))
    else:
        factor = number_arg(scale, "scaled_dot_product_attention: scale")
    scores = matmul(q * factor, k.transpose(-2, -1))
    if bool_arg(is_causal, "scaled_dot_product_attention: is_causal"):
        if attn_mask is not None:
            raise ArgumentError(
                "scaled_dot_product_attention: give attn_mask or is_causal, not both"
            )
        scores = masked_fill(scores, _future(scores), -math.inf)
    if attn_mask is not None:
        scores = _masked(scores, tensor_arg(attn_mask, "scaled_dot_product_attention: attn_mask"))
    return matmul(softmax(scores, -1), v)


def _future(scores: Tensor) -> Tensor:
    rows, cols = scores.shape[-2:]
    places = [count(n, 0, scores.node.device) for n in (rows, cols)]
    return places[1].reshape(1, cols) > places[0].reshape(rows, 1)


def _masked(scores: Tensor, mask: Tensor) -> Tensor:
    if mask.dtype is bool_:
        return masked_fill(scores, ~mask, -math.inf)
    a, b = operands("scaled_dot_product_attention", scores.dtype, scores, mask)
    return wrap(build.add(a, b))

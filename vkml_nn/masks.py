"""Attention masks: PyTorch's forms of them, made to fit scores (N, heads, L, S)."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable

from vkml_core.dtypes import bool_
from vkml_core.errors import DTypeError, ShapeError
from vkml_core.functional.common import tensor_arg
from vkml_core.functional.creation import arange
from vkml_core.functional.elementwise import masked_fill
from vkml_core.shapes import Shape
from vkml_core.tensor import Tensor


def _mask(mask: object, what: str, forms: dict[Shape, Shape]) -> Tensor:
    """Check a mask's dtype and shape, and give it in the form that its shape stands for."""
    given = tensor_arg(mask, what)
    if given.dtype is not bool_ and not given.dtype.is_floating_point:
        raise DTypeError(f"{what}: expected bool_ or floating point, got {given.dtype.name}")
    if given.shape not in forms:
        expected = " or ".join(map(str, forms))
        raise ShapeError(f"{what}: got shape {given.shape}, expected {expected}")
    return given.reshape(forms[given.shape])


def attention_mask(mask: object, what: str, scores: Shape, batched: bool) -> Tensor:
    """Read a mask (L, S), (heads·N, L, S), (N, L, S), or one that broadcasts to the scores."""
    n, heads, *pair = scores
    ends = (pair[0], pair[1])
    forms: dict[Shape, Shape] = {ends: (1, 1, *ends), (n * heads, *ends): (n, heads, *ends)}
    if batched:
        forms.setdefault((n, *ends), (n, 1, *ends))
        forms |= {(a, b, *ends): (a, b, *ends) for a in (1, n) for b in (1, heads)}
    return _mask(mask, what, forms)


def padding_mask(mask: object, what: str, scores: Shape, batched: bool) -> Tensor:
    """Read a mask (N, S), or (S,) without a batch: the same for all heads and queries."""
    n, _, _, keys = scores
    return _mask(mask, what, {(n, keys) if batched else (keys,): (n, 1, 1, keys)})


def future(scores: Shape, device: str) -> Tensor:
    """Give True where a key comes after the query, (L, S)."""
    rows, cols = (arange(n, device=device) for n in scores[-2:])
    return cols > rows.reshape(-1, 1)


def masked(scores: Tensor, masks: Iterable[Tensor]) -> Tensor:
    """Add float masks, and put −∞ where a bool mask is True."""
    given = list(masks)
    for mask in given:
        if mask.dtype is not bool_:
            scores = scores + mask.to(scores.dtype)
    hidden = [mask for mask in given if mask.dtype is bool_]
    if not hidden:
        return scores
    return masked_fill(scores, functools.reduce(lambda a, b: a | b, hidden), -math.inf)

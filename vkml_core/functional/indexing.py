"""Reading and adding at indices; sorting; `tensor[...]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from vkml_core.dtypes import INTS, bool_, int64
from vkml_core.errors import ArgumentError, ArgumentTypeError, DTypeError, IndexError_, ShapeError
from vkml_core.functional.common import bool_arg, same_device, tensor_arg, wrap
from vkml_core.functional.creation import convert, tensor
from vkml_core.functional.elementwise import where
from vkml_core.graph import Node, build
from vkml_core.ops.rules import expand, reshape, slice_axis
from vkml_core.public import public
from vkml_core.shapes import Shape, broadcast, check_axis, check_shape, size, to_int
from vkml_core.tensor import Tensor


def _index_arg(op: str, index: object) -> Tensor:
    t = tensor_arg(index, f"{op}: index")
    if t.dtype not in INTS:
        raise DTypeError(f"{op}: indices are {t.dtype.name}, expected int64 or int32")
    return t


@public()
def gather(input: Tensor, dim: int, index: Tensor) -> Tensor:
    """Give out[…, i, …] = input[…, index[…, i, …], …] along `dim`.

    `index` has input's rank and may be smaller in the other dimensions. An index outside the
    dimension is an IndexError when the result is computed.
    """
    x, where_ = tensor_arg(input, "gather: input"), _index_arg("gather", index)
    same_device("gather", x, where_)
    axis = check_axis(dim, x.ndim, "gather")
    if where_.ndim != x.ndim:
        raise ShapeError(f"gather: index has rank {where_.ndim}, input {x.ndim}")
    node = x.node
    for a, n in enumerate(where_.shape):
        if a != axis and n > x.shape[a]:
            raise ShapeError(f"gather: index {where_.shape} is larger than {x.shape} in dim {a}")
        if a != axis and n < x.shape[a]:
            node = slice_axis(node, a, 0, n)
    return wrap(build.gather(node, where_.node, axis=axis))


def _spread_index(index: Node, shape: Shape, axis: int) -> Node:
    """Repeat a 1-d index over the other dimensions."""
    wide = reshape(index, tuple(size(index.shape) if i == axis else 1 for i in range(len(shape))))
    return expand(wide, shape)


@public()
def index_select(input: Tensor, axis: int, index: Tensor) -> Tensor:
    """Give the slices of `input` along `axis` named by a 1-d index."""
    x, picks = tensor_arg(input, "index_select: input"), _index_arg("index_select", index)
    same_device("index_select", x, picks)
    if picks.ndim > 1:
        raise ShapeError(f"index_select: index must have rank 1, got shape {picks.shape}")
    a = check_axis(axis, x.ndim, "index_select")
    shape = tuple(picks.size if i == a else d for i, d in enumerate(x.shape))
    return wrap(build.gather(x.node, _spread_index(picks.node, shape, a), axis=a))


@public(method=False)
def scatter_add(src: Tensor, axis: int, index: Tensor, dim_size: int) -> Tensor:
    """Add the slices of `src` into zeros of size `dim_size` along `axis`, in source order.

    `index` has rank 1, or src's shape.
    """
    x, targets = tensor_arg(src, "scatter_add: src"), _index_arg("scatter_add", index)
    same_device("scatter_add", x, targets)
    a, n = check_axis(axis, x.ndim, "scatter_add"), to_int(dim_size, "scatter_add: dim_size")
    check_shape(tuple(n if i == a else d for i, d in enumerate(x.shape)), "scatter_add")
    node = targets.node
    if targets.shape != x.shape:
        if targets.ndim != 1 or targets.size != x.shape[a]:
            raise ShapeError(
                f"scatter_add: index must have shape {(x.shape[a],)} or {x.shape}, "
                f"got {targets.shape}"
            )
        node = _spread_index(node, x.shape, a)
    return wrap(build.scatter_add(x.node, node, axis=a, size=n))


@public()
def sort(input: Tensor, dim: int = -1, descending: bool = False) -> tuple[Tensor, Tensor]:
    """Give the sorted values and their indices; stable, NaN is the largest."""
    order = argsort(input, dim, descending)
    x = tensor_arg(input, "sort: input")
    return (gather(x, dim, order) if x.ndim else x), order


@public()
def argsort(input: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """Give the indices that sort along `dim`; stable, NaN is the largest."""
    x = tensor_arg(input, "argsort: input")
    axis = check_axis(dim, max(x.ndim, 1), "argsort")
    down = bool_arg(descending, "argsort: descending")
    node = build.cast(x.node, dtype=int64) if x.dtype is bool_ else x.node
    if x.ndim == 0:
        return wrap(reshape(build.argsort(reshape(node, (1,)), axis=0, descending=down), ()))
    return wrap(build.argsort(node, axis=axis, descending=down))


@public()
def topk(input: Tensor, k: int, dim: int = -1, largest: bool = True) -> tuple[Tensor, Tensor]:
    """Give the k largest (or smallest) values along `dim`, in order, and their indices."""
    x = tensor_arg(input, "topk: input")
    axis, n = check_axis(dim, x.ndim, "topk"), to_int(k, "topk: k")
    if not 0 <= n <= x.shape[axis]:
        raise IndexError_(f"topk: k = {n} is out of range for dim {dim} of size {x.shape[axis]}")
    order = argsort(x, dim, bool_arg(largest, "topk: largest"))
    best = wrap(slice_axis(order.node, axis, 0, n))
    return gather(x, axis, best), best


# tensor[key]
@public(name="getitem")
def getitem(input: Tensor, key: Any) -> Tensor:
    """Index with ints, slices (any step), None, Ellipsis, and integer or bool tensors or lists."""
    x = tensor_arg(input, "getitem: input")
    given = key if isinstance(key, tuple) else (key,)
    found = [_as_index(k, x.node.device) for k in given]
    keys = _expand_ellipsis(x, [k if t is None else t for k, t in zip(given, found, strict=True)])
    node, picks = _basic(x.node, keys)
    view = wrap(node)
    return view if not picks else _advanced(view, picks)


def _takes(key: Any) -> int:
    """How many dimensions of the tensor a key uses up."""
    if key is None:
        return 0
    return key.ndim if isinstance(key, Tensor) and key.dtype is bool_ else 1


def _expand_ellipsis(x: Tensor, keys: Sequence[Any]) -> list[Any]:
    dots = [i for i, k in enumerate(keys) if k is Ellipsis]
    if len(dots) > 1:
        raise IndexError_("getitem: at most one Ellipsis is allowed")
    used = sum(_takes(k) for k in keys if k is not Ellipsis)
    if used > x.ndim:
        raise IndexError_(f"getitem: {used} indices for shape {x.shape} of rank {x.ndim}")
    rest = [slice(None)] * (x.ndim - used)
    at = dots[0] if dots else len(keys)
    return [*keys[:at], *rest, *keys[at + 1 :]]


def _as_index(key: Any, device: str) -> Tensor | None:
    """Give an index tensor for a tensor, array, list or bool; None for anything simpler."""
    if isinstance(key, Tensor):
        return None if key.ndim == 0 and key.dtype in INTS else key
    if isinstance(key, bool | np.bool_ | list) or (isinstance(key, np.ndarray) and key.ndim):
        made = tensor(key, device=device)
        return convert(made, int64) if isinstance(key, list) and not made.size else made
    return None


def _basic(node: Node, keys: Sequence[Any]) -> tuple[Node, dict[int, Tensor]]:
    """Apply everything but index tensors; give those with the dimension that each starts at."""
    spans: list[tuple[int, int, int]] = []
    shape: list[int] = []
    picks: dict[int, Tensor] = {}
    axis = 0
    for key in keys:
        if key is None:
            shape.append(1)
            continue
        if isinstance(key, Tensor) and not (key.ndim == 0 and key.dtype in INTS):
            picks[len(shape)] = key
            used = _takes(key)
            spans += [(0, d, 1) for d in node.shape[axis : axis + used]]
            shape += node.shape[axis : axis + used]
            axis += used
            continue
        spans.append(_span(key, node.shape[axis], axis))
        if isinstance(key, slice):
            shape.append(spans[-1][1])
        axis += 1
    whole = [(0, d, 1) for d in node.shape]
    if spans != whole:
        start, length, step = (tuple(span[i] for span in spans) for i in range(3))
        node = build.slice(node, start=start, length=length, step=step)
    return reshape(node, check_shape(tuple(shape), "getitem")), picks


def _span(key: Any, n: int, axis: int) -> tuple[int, int, int]:
    """Read an int or a slice as (first, how many, step)."""
    if isinstance(key, slice):
        try:
            first, stop, step = key.indices(n)
        except (TypeError, ValueError) as error:
            raise ArgumentError(f"getitem: {key}: {error}") from None
        found = len(range(first, stop, step))
        return (first, found, step) if found else (0, 0, 1)
    if isinstance(key, Tensor):
        key = int(key)
    if not hasattr(key, "__index__"):
        raise ArgumentTypeError(
            f"getitem: {type(key).__name__} is not an index; use int, slice, None, Ellipsis, "
            "or integer or bool tensors"
        )
    i = to_int(key, "getitem")
    if not -n <= i < n:
        raise IndexError_(f"getitem: index {i} is out of range for dim {axis} with size {n}")
    return i % n, 1, 1


def _advanced(x: Tensor, picks: dict[int, Tensor]) -> Tensor:
    """Index with tensors, as NumPy does: they broadcast together; neighbours stay in place."""
    axes: list[int] = []
    indices: list[Tensor] = []
    for at, pick in picks.items():
        parts = _nonzero(pick, x, at) if pick.dtype is bool_ else [pick]
        for i, part in enumerate(parts):
            if part.dtype not in INTS:
                raise DTypeError(f"getitem: index of dtype {part.dtype.name}; use int64 or bool_")
            axes.append(at + i)
            indices.append(part)
    same_device("getitem", x, *indices)
    wide = broadcast("getitem", *(i.shape for i in indices))
    place = axes[0] if axes == list(range(axes[0], axes[0] + len(axes))) else 0
    others = [a for a in range(x.ndim) if a not in axes]
    flat = _linear([wrap(expand(i.node, wide)) for i in indices], [x.shape[a] for a in axes], axes)
    moved = x.permute([*axes, *others])
    rest = tuple(x.shape[a] for a in others)
    table = moved.reshape((size(x.shape[a] for a in axes), size(rest)))
    out = index_select(table, 0, flat.reshape(-1))
    shape = check_shape((*wide, *rest), "getitem")
    order = list(range(len(wide), len(wide) + place)) + list(range(len(wide)))
    order += list(range(len(wide) + place, len(shape)))
    return out.reshape(shape).permute(order)


def _linear(indices: list[Tensor], sizes: list[int], axes: list[int]) -> Tensor:
    """Turn one index per dimension, negative ones counted from the end, into a single index."""
    flat: Tensor | None = None
    for index, n, axis in zip(indices, sizes, axes, strict=True):
        wide = wrap(build.cast(index.node, dtype=int64)) if index.dtype is not int64 else index
        _check_range(wide, n, axis)
        positive = where(wide < 0, wide + n, wide)
        flat = positive if flat is None else flat * n + positive
    assert flat is not None
    return flat


def _check_range(index: Tensor, n: int, axis: int) -> None:
    """Check indices against their dimension; this reads them."""
    host = index.numpy()
    bad = host[(host < -n) | (host >= n)]
    if bad.size:
        raise IndexError_(
            f"getitem: index {bad.flat[0]} is out of range for dim {axis} with size {n}"
        )


def _nonzero(mask: Tensor, x: Tensor, at: int) -> list[Tensor]:
    """Turn a bool mask into one index tensor per dimension; this reads the mask."""
    if mask.shape != x.shape[at : at + mask.ndim] or mask.ndim == 0:
        raise IndexError_(
            f"getitem: mask of shape {mask.shape} does not fit dimensions "
            f"{x.shape[at : at + max(mask.ndim, 1)]} of shape {x.shape}"
        )
    return [tensor(i, device=x.node.device) for i in np.nonzero(mask.numpy())]

"""Shapes of rank ≤ 4 and strided views: pure functions on tuples of ints."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from vkml_core.errors import ArgumentTypeError, IndexError_, ShapeError

Shape = tuple[int, ...]
"""The sizes of the dimensions."""
MAX_RANK: Final = 4
"""The most dimensions that a tensor may have."""
MAX_ELEMENTS: Final = 2**40
"""The most elements that a tensor may have; a device may hold fewer."""


def to_int(value: object, what: str) -> int:
    """Turn anything with `__index__` into an int, or raise ArgumentTypeError naming `what`."""
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        got = type(value).__name__
        raise ArgumentTypeError(f"{what}: expected an int, got {got} {value!r}") from None


def to_ints(values: object, what: str) -> tuple[int, ...]:
    """Turn an int or an iterable of ints into a tuple of ints."""
    if hasattr(values, "__index__"):
        return (to_int(values, what),)
    if isinstance(values, str) or not isinstance(values, Iterable):
        got = type(values).__name__
        raise ArgumentTypeError(f"{what}: expected an int or a sequence of ints, got {got}")
    return tuple(to_int(v, what) for v in values)


def check_shape(shape: object, op: str) -> Shape:
    """Check a complete shape: ints ≥ 0, rank ≤ 4, a countable number of elements."""
    dims = to_ints(shape, f"{op}: shape")
    if len(dims) > MAX_RANK:
        raise ShapeError(
            f"{op}: shape {dims} has rank {len(dims)}, vkml supports at most {MAX_RANK}; "
            "merge dimensions with reshape"
        )
    if any(d < 0 for d in dims):
        raise ShapeError(f"{op}: shape {dims} has a negative size; sizes must be ≥ 0")
    if size(dims) > MAX_ELEMENTS:
        raise ShapeError(f"{op}: shape {dims} has {size(dims)} elements, the limit is 2^40")
    return dims


def size(shape: Iterable[int]) -> int:
    """Count the elements of a shape."""
    n = 1
    for d in shape:
        n *= d
    return n


def check_axis(axis: object, rank: int, op: str) -> int:
    """Give the non-negative form of `axis` in a tensor of `rank`, or raise IndexError_."""
    a = to_int(axis, f"{op}: dim")
    if not -rank <= a < rank:
        hint = f"expected {-rank} ≤ dim < {rank}" if rank else "a rank-0 tensor has no dimensions"
        raise IndexError_(f"{op}: dim {a} is out of range for rank {rank}; {hint}")
    return a % rank


def check_axes(axes: object, rank: int, op: str) -> tuple[int, ...]:
    """Give sorted non-negative axes; None means all. Repeats raise ShapeError."""
    if axes is None:
        return tuple(range(rank))
    found = tuple(check_axis(a, rank, op) for a in to_ints(axes, f"{op}: dim"))
    if len(set(found)) != len(found):
        raise ShapeError(f"{op}: dim {axes} names a dimension twice")
    return tuple(sorted(found))


def broadcast(op: str, *shapes: Shape) -> Shape:
    """Broadcast shapes as NumPy does.

    >>> broadcast("add", (3, 1), (4,))
    (3, 4)
    """
    rank = max((len(s) for s in shapes), default=0)
    out = []
    for i in range(rank):
        dims = {s[i - rank + len(s)] for s in shapes if i - rank + len(s) >= 0} - {1}
        if len(dims) > 1:
            shown = " and ".join(str(s) for s in shapes)
            raise ShapeError(
                f"{op}: shapes {shown} do not broadcast: dimension {i - rank} has sizes "
                f"{' ≠ '.join(map(str, sorted(dims)))}; sizes must be equal or 1"
            )
        out.append(dims.pop() if dims else 1)
    return tuple(out)


def reduce_shape(shape: Shape, axes: Iterable[int]) -> Shape:
    """Drop `axes` from a shape."""
    gone = set(axes)
    return tuple(d for i, d in enumerate(shape) if i not in gone)


def keep_shape(shape: Shape, axes: Iterable[int]) -> Shape:
    """Set `axes` of a shape to 1."""
    ones = set(axes)
    return tuple(1 if i in ones else d for i, d in enumerate(shape))


def infer_reshape(old: Shape, new: object, op: str = "reshape") -> Shape:
    """Resolve one −1 in `new` and check that the number of elements stays."""
    dims = to_ints(new, f"{op}: shape")
    n, holes = size(old), dims.count(-1)
    if holes > 1:
        raise ShapeError(f"{op}: shape {dims} has {holes} dimensions of −1, at most one is allowed")
    if holes:
        rest = size(d for d in dims if d != -1)
        if rest <= 0 or n % rest:
            raise ShapeError(f"{op}: {n} elements of shape {old} do not fit shape {dims}")
        dims = tuple(n // rest if d == -1 else d for d in dims)
    dims = check_shape(dims, op)
    if size(dims) != n:
        raise ShapeError(
            f"{op}: shape {old} has {n} elements, shape {dims} needs {size(dims)}; "
            "use -1 for one dimension to be worked out"
        )
    return dims


def contiguous_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Give row-major strides in elements."""
    strides, step = [], 1
    for d in reversed(shape):
        strides.append(step)
        step *= max(d, 1)
    return tuple(reversed(strides))


@dataclass(frozen=True, slots=True)
class View:
    """A strided window on a flat buffer: `shape`, `strides` and `offset` in elements."""

    shape: Shape
    strides: tuple[int, ...]
    offset: int = 0

    @staticmethod
    def of(shape: Shape) -> View:
        """Give the contiguous view of a whole buffer."""
        return View(shape, contiguous_strides(shape))

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps (any offset)."""
        want = contiguous_strides(self.shape)
        return 0 in self.shape or all(
            d == 1 or s == w for d, s, w in zip(self.shape, self.strides, want, strict=True)
        )

    def permute(self, axes: Sequence[int]) -> View:
        """Reorder the axes."""
        return View(
            tuple(self.shape[a] for a in axes), tuple(self.strides[a] for a in axes), self.offset
        )

    def expand(self, shape: Shape) -> View:
        """Broadcast to `shape` of the same or a higher rank with strides of zero."""
        lead = len(shape) - len(self.shape)
        strides = (0,) * lead + tuple(
            0 if d == 1 and n != 1 else s
            for d, s, n in zip(self.shape, self.strides, shape[lead:], strict=True)
        )
        return View(shape, strides, self.offset)

    def slice(self, start: Sequence[int], length: Sequence[int], step: Sequence[int]) -> View:
        """Take `length` elements from `start` by `step` (which may be negative) on each axis."""
        if 0 in length:
            return View(tuple(length), contiguous_strides(length), 0)
        moved = sum(b * s for b, s in zip(start, self.strides, strict=True))
        strides = tuple(s * k for s, k in zip(self.strides, step, strict=True))
        return View(tuple(length), strides, self.offset + moved)

    def reshape(self, shape: Shape) -> View | None:
        """Give the same elements in another shape, or None where strides cannot express it."""
        if 0 in shape:
            return View.of(shape)
        strides = _split_merge(self.shape, self.strides, shape)
        return None if strides is None else View(shape, strides, self.offset)

    def span(self) -> tuple[int, int]:
        """Give the half-open range of flat elements that the view touches."""
        if 0 in self.shape:
            return (self.offset, self.offset)
        reach = [(d - 1) * s for d, s in zip(self.shape, self.strides, strict=True)]
        low = self.offset + sum(r for r in reach if r < 0)
        return (low, self.offset + sum(r for r in reach if r > 0) + 1)


def _split_merge(old: Shape, strides: tuple[int, ...], new: Shape) -> tuple[int, ...] | None:
    """Merge the old dimensions into evenly strided runs, then cut the runs into the new ones."""
    runs: list[tuple[int, int]] = []
    for d, s in zip(old, strides, strict=True):
        if d == 1:
            continue
        if runs and runs[-1][1] == d * s:
            runs[-1] = (runs[-1][0] * d, s)
        else:
            runs.append((d, s))
    out: list[int] = []
    i = 0
    for d in new:
        if d == 1:
            out.append(0)
            continue
        left, stride = runs[i] if i < len(runs) else (0, 0)
        if left == 0 or left % d:
            return None
        out.append(stride * (left // d))
        runs[i] = (left // d, stride)
        i += left == d
    return tuple(out)

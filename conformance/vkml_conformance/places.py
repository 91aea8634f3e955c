"""Patterns of places: which elements of a result differ, and where their values come from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from vkml_backend_cpu.kernels.random import random_bits
from vkml_conformance.evidence import Evidence
from vkml_conformance.values import Array, words
from vkml_core.ops.spec import Form

TILES: Final = (4, 8, 16, 32, 64, 128)
MOST: Final = 0.9
"""The share of the elements of a tail that differ: what was there may be right by chance."""
DISTINCT: Final = 3
"""Different values needed to tell that elements changed places."""
_FAR: Final = 8
"""Elements by which a random counter may be off."""


def is_tie(e: Evidence) -> bool:
    """Whether every wrong index names an element equal to the one that is wanted."""
    case = e.case
    if case is None or case.spec.form is not Form.SELECT or e.right.dtype != np.int64:
        return False
    attrs: Any = case.sample.attrs
    pick = _on_axis if hasattr(attrs, "axis") else _in_image
    try:
        a, b = (pick(case.arrays[0], side, attrs)[e.wrong] for side in (e.whole, e.right))
    except IndexError:  # what was got is no index
        return False
    return bool(np.all((a == b) | ((a != a) & (b != b))))


def _on_axis(x: Array, index: Array, attrs: Any) -> Array:
    """Give the elements that argmax, argmin or argsort names."""
    if index.ndim == x.ndim:
        return np.asarray(np.take_along_axis(x, index, attrs.axis))
    wide = np.expand_dims(index, attrs.axis)
    return np.asarray(np.take_along_axis(x, wide, attrs.axis).squeeze(attrs.axis))


def _in_image(x: Array, index: Array, attrs: Any) -> Array:
    """Give the elements that places y·W + x in images name."""
    pixels, places = (a.reshape((*a.shape[:2], -1)) for a in (x, index))
    return np.asarray(np.take_along_axis(pixels, places, 2).reshape(index.shape))


def is_index_truncated(e: Evidence) -> bool:
    """Whether each wrong int64 is the wanted one cut to fewer bits, signed or not."""
    if e.right.dtype != np.int64:
        return False
    cuts = (np.int32, np.int16, np.uint32, np.uint16)
    return any(np.array_equal(e.got, e.want.astype(cut).astype(np.int64)) for cut in cuts)


def counter_is_off(e: Evidence) -> bool:
    """Whether the wrong random words are words of the same stream from near by."""
    case = e.case
    if case is None or case.spec.form is not Form.PHILOX or case.sample.attrs.bits < 16:
        return False
    seed, offset = (int(x) for x in case.arrays)
    count = e.right.size + _FAR
    stream = random_bits(seed, offset, (count,), case.sample.attrs.bits)
    at = np.flatnonzero(e.wrong)
    steps = [k for k in range(-_FAR, _FAR + 1) if k]
    near = [stream[np.clip(at + k, 0, count - 1)] == e.got for k in steps]
    return bool(np.any(near, axis=0).all())


def shift(e: Evidence) -> int:
    """Give by how many places the wrong elements lie beside those that are wanted; 0 if not."""
    at, flat = np.flatnonzero(e.wrong), words(e.right).reshape(-1)
    if not _telling(e):
        return 0
    got = words(e.got)
    for step in _steps(e.right.shape):
        there = (at + step >= 0) & (at + step < flat.size)
        if there.sum() >= max(DISTINCT, MOST * at.size) and np.array_equal(
            flat[(at + step)[there]], got[there]
        ):
            return step
    return 0


def _steps(shape: tuple[int, ...]) -> Iterator[int]:
    """Give distances of neighbours in memory, along the last axis first."""
    near = [1, 2, 3, 4, *shape[-1:]]
    for step in dict.fromkeys(near):
        yield from (step, -step)


def is_misplaced(e: Evidence) -> bool:
    """Whether the wrong elements are the wanted ones in another order."""
    return _telling(e) and np.array_equal(np.sort(words(e.got)), np.sort(words(e.want)))


def _telling(e: Evidence) -> bool:
    distinct = (np.unique(words(x)).size >= DISTINCT for x in (e.got, e.want))
    return e.right.dtype != np.bool_ and all(distinct)


def is_tail(e: Evidence) -> bool:
    """Whether what differs is the end: of all elements, of an axis, or of tiles of an axis."""
    shapes = [e.wrong.reshape(-1), *(np.moveaxis(e.wrong, a, 0) for a in range(e.wrong.ndim))]
    return any(_ends(part.reshape(len(part), -1)) for part in shapes if part.size > 1)


def _ends(wrong: Array) -> bool:
    """Whether the rows with wrong elements are the last ones, and almost all of them wrong."""
    rows = np.flatnonzero(wrong.any(1))
    n = len(wrong)
    if rows.size in (0, n) or wrong[rows].mean() < MOST:
        return False
    if rows[0] + rows.size == n:
        return True
    return any(np.array_equal(rows, np.arange(tile - 1, n, tile)) for tile in TILES)

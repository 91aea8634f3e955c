"""Views against NumPy: the same elements, and a reshape is a view wherever NumPy's is."""

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided

from vkml_core.shapes import View, size


@st.composite
def views(draw: st.DrawFn) -> tuple[View, np.ndarray[Any, Any]]:
    """A chain of views on a buffer, and NumPy's on the same."""
    shape = tuple(draw(st.lists(st.integers(1, 6), max_size=4)))
    view, array = View.of(shape), np.arange(size(shape)).reshape(shape)
    for kind in draw(st.lists(st.sampled_from("pse"), max_size=3)):
        rank = len(view.shape)
        if kind == "p":
            axes = draw(st.permutations(range(rank)))
            view, array = view.permute(axes), array.transpose(axes)
        elif kind == "e":
            wide = tuple(draw(st.integers(1, 3)) if d == 1 else d for d in view.shape)
            view, array = view.expand(wide), np.broadcast_to(array, wide)
        elif rank:
            keys = [
                slice(draw(st.integers(0, d - 1)), None, draw(st.sampled_from([1, 2, -1, -2])))
                for d in view.shape
            ]
            spans = [range(*k.indices(d)) for k, d in zip(keys, view.shape, strict=True)]
            view = view.slice(
                [s.start for s in spans], [len(s) for s in spans], [s.step for s in spans]
            )
            array = array[tuple(keys)]
    return view, array


def elements(view: View, count: int) -> np.ndarray[Any, Any]:
    base = np.arange(count)
    return as_strided(base[view.offset :], view.shape, [s * base.itemsize for s in view.strides])


@given(views(), st.data())
def test_views_are_numpys(pair: tuple[View, np.ndarray[Any, Any]], data: st.DataObject) -> None:
    view, array = pair
    count = max(int(array.max(initial=0)) + 1, view.span()[1])
    assert (elements(view, count) == array).all()
    low, high = view.span()
    assert (low, high) == (array.min(), array.max() + 1)
    assert view.is_contiguous == (np.ravel(array) == np.arange(array.size) + view.offset).all()
    parts, rest = [], array.size
    for _ in range(data.draw(st.integers(0, 3))):
        parts.append(data.draw(st.sampled_from([d for d in range(1, rest + 1) if rest % d == 0])))
        rest //= parts[-1]
    shape = (*parts, rest)
    new = view.reshape(shape)
    try:
        want = np.reshape(array, shape, copy=False)
    except ValueError:
        assert new is None
        return
    assert new is not None
    assert (elements(new, count) == want).all()

"""`tensor[...]` gives what PyTorch gives, slices of negative steps what NumPy gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import vkml

from .settings import quick

X = np.arange(2 * 3 * 4 * 5, dtype=np.float32).reshape(2, 3, 4, 5) - 7.5
I, J = np.array([0, 2, -1]), np.array([[1], [-2]])
BASIC: tuple[Any, ...] = (
    0,
    -1,
    slice(None),
    Ellipsis,
    (),
    (1, 2),
    (1, -1, 0, 4),
    (slice(0, 1), slice(1, 3)),
    (slice(None, None, 2),),
    (slice(None), slice(None), slice(None, None, 3), slice(4, 0, -2)),
    (slice(None, None, -1), Ellipsis),
    (Ellipsis, slice(None, None, -1)),
    (Ellipsis, 2),
    (0, Ellipsis, 1),
    (0, None, Ellipsis),
    (None, 0),
    ([[0], [1]], 0),
    (None, 1, Ellipsis, 0),
    (0, 1, Ellipsis, None),
    (slice(2, 1),),
    (slice(-100, 100),),
    (slice(100, None),),
    (Ellipsis, slice(-1, None, -3)),
    (Ellipsis, slice(-3, -10, -1)),
    np.int64(1),
    (np.int32(-2), slice(1, None)),
)
ADVANCED: tuple[Any, ...] = (
    [0, 1, 1],
    [],
    np.array([1, 0, 1, 1]),
    np.array([], np.int64),
    (slice(None), I),
    (slice(None), I, slice(None), 0),
    (Ellipsis, I),
    (slice(None), [0, 1, 2], [3, -4, 0]),
    (slice(None), I, J),
    (slice(None), slice(None), J, I),
    (0, I, slice(None, None, -1)),
    (slice(None, None, -1), I),
    (slice(None), slice(1, 3), J, 0),
    (J % 2, slice(None), I),
    (slice(None), I, slice(None), I),
    (I % 2, I, I, I),
    X[:, :, :, 0] > -7,
    X[:, :, 0, 0] > 20,
    (slice(None), X[0, :, 0, 0] > 5),
    X > 10,
    X > 1e9,
    (0, np.array([True, False, True])),
    (0, slice(None), np.array([True, False, True, True]), slice(None, 2)),
    (np.array([True, False]), slice(None), I),
    (slice(None), X[0, :, :, 0] > 20, slice(1, 4)),
    (None, I % 2, 1),
    (0, None, I),
    [True, False],
    np.array(True).reshape(1).repeat(2),
)


def _array(key: Any) -> Any:
    """Make arrays of lists, and Python's ints of NumPy's."""
    if isinstance(key, list):
        return np.array(key, bool if key and isinstance(key[0], bool) else np.int64)
    return int(key) if isinstance(key, np.integer) else key


def _takes(key: Any) -> int:
    if isinstance(key, np.ndarray) and key.dtype == bool:
        return key.ndim
    return int(key is not None)


def _reference(x: np.ndarray, key: Any) -> np.ndarray:
    """Let NumPy take the slices and PyTorch, which knows no negative steps, the rest."""
    keys = [_array(k) for k in (key if isinstance(key, tuple) else (key,))]
    at = next((i for i, k in enumerate(keys) if k is Ellipsis), len(keys))
    rest = x.ndim - sum(_takes(k) for k in keys if k is not Ellipsis)
    keys = [*keys[:at], *[slice(None)] * rest, *keys[at + 1 :]]
    slices: list[slice] = []
    others: list[Any] = []
    for k in keys:
        sliced = isinstance(k, slice)
        slices += [k] if sliced else [slice(None)] * _takes(k)
        others.append(slice(None) if sliced else k)
    return torch.from_numpy(x[tuple(slices)].copy())[_torch_key(tuple(others))].numpy()


def _torch_key(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(map(_torch_key, key))
    key = _array(key)
    return torch.from_numpy(key) if isinstance(key, np.ndarray) else key


def _key(key: Any) -> Any:
    """Make index tensors of the arrays of a key."""
    if isinstance(key, tuple):
        return tuple(map(_key, key))
    return vkml.tensor(key) if isinstance(key, np.ndarray) else key


@pytest.mark.parametrize("key", (*BASIC, *ADVANCED), ids=lambda k: repr(k)[:60])
def test_getitem(key: Any) -> None:
    want = _reference(X, key)
    for form in (key, _key(key)):
        got = vkml.tensor(X)[form]
        assert got.shape == want.shape and got.dtype is vkml.float32
        np.testing.assert_array_equal(got.numpy(), want)


def test_results_above_rank_4() -> None:
    for key in (None, (Ellipsis, None), [[0], [1]], (slice(None), J % 2), (I % 2, None)):
        with pytest.raises(vkml.ShapeError, match="rank 5"):
            vkml.tensor(X)[key]


@pytest.mark.parametrize("dtype", [np.bool_, np.int32, np.int64, np.float16])
def test_getitem_of_every_dtype(dtype: Any) -> None:
    x = (X > 0).astype(dtype) if dtype is np.bool_ else X.astype(dtype)
    for key in ((slice(None), I), (Ellipsis, slice(None, None, -2)), x > 3, (1, 1)):
        got = vkml.tensor(x)[key]
        np.testing.assert_array_equal(got.numpy(), x[key])
        assert got.dtype.numpy == x.dtype


def _negative_step(key: Any) -> bool:
    keys = key if isinstance(key, tuple) else (key,)
    return any(isinstance(k, slice) and (k.step or 1) < 0 for k in keys)


WITH_GRADIENT = [k for k in (*BASIC, *ADVANCED) if not _negative_step(k)]


@pytest.mark.parametrize("key", WITH_GRADIENT, ids=lambda k: repr(k)[:60])
def test_gradient(key: Any) -> None:
    y = torch.from_numpy(X).clone().requires_grad_()
    out = y[_torch_key(key)]
    weights = np.sin(np.arange(out.numel(), dtype=np.float32)).reshape(tuple(out.shape))
    (out * torch.from_numpy(weights)).sum().backward()
    x = vkml.tensor(X, requires_grad=True)
    (x[key] * vkml.tensor(weights)).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), y.grad.numpy(), rtol=2e-6, atol=1e-6)


def test_gradient_of_negative_steps() -> None:
    x = vkml.tensor(np.arange(6, dtype=np.float32), requires_grad=True)
    (x[4:0:-2] * vkml.tensor([1.0, 2.0])).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0, 2.0, 0.0, 1.0, 0.0]


def test_tensors_of_one_element_index_as_ints() -> None:
    x = vkml.tensor(X)
    assert x[vkml.tensor(1)].shape == (3, 4, 5)
    np.testing.assert_array_equal(x[vkml.tensor(-1), vkml.tensor(0)].numpy(), X[-1, 0])


_SLICE = st.builds(
    slice,
    st.none() | st.integers(-7, 7),
    st.none() | st.integers(-7, 7),
    st.none() | st.integers(-4, 4).filter(bool),
)


@st.composite
def _keys(draw: Any) -> tuple[np.ndarray, Any]:
    shape = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3).map(tuple))
    x = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    used = draw(st.integers(0, len(shape)))
    keys: list[Any] = []
    for n in shape[:used]:
        kinds = [_SLICE]
        if n:
            kinds.append(st.integers(-n, n - 1))
            kinds.append(st.lists(st.integers(-n, n - 1), min_size=2, max_size=2).map(np.array))
        keys.append(draw(st.one_of(*kinds)))
    if draw(st.booleans()):
        keys.insert(draw(st.integers(0, len(keys))), None)
    if draw(st.booleans()) and used < len(shape):
        keys.append(Ellipsis)
    return x, tuple(keys)


@quick(150)
@given(_keys())
def test_random_keys(given_: tuple[np.ndarray, Any]) -> None:
    x, key = given_
    np.testing.assert_array_equal(vkml.tensor(x)[key].numpy(), _reference(x, key))


ERRORS: tuple[tuple[Any, type[Exception], str], ...] = (
    (2, vkml.IndexError_, "index 2 is out of range for dim 0 with size 2"),
    (-3, vkml.IndexError_, "index -3 is out of range for dim 0 with size 2"),
    ((0, 0, 0, 5), vkml.IndexError_, "index 5 is out of range for dim 3 with size 5"),
    ((0, 0, 0, 0, 0), vkml.IndexError_, "5 indices .* rank 4"),
    ((Ellipsis, Ellipsis), vkml.IndexError_, "at most one Ellipsis"),
    ([0, 2], vkml.IndexError_, "index 2 is out of range for dim 0 with size 2"),
    ((slice(None), [0, -4]), vkml.IndexError_, "index -4 is out of range for dim 1 with size 3"),
    (np.array([True]), vkml.IndexError_, "mask of shape"),
    (np.array([0.5]), vkml.DTypeError, "float"),
    ([0.5], vkml.DTypeError, "float"),
    (0.5, vkml.ArgumentTypeError, "float is not an index"),
    ("a", vkml.ArgumentTypeError, "str is not an index"),
    (slice(None, None, 0), vkml.ArgumentError, "zero"),
    (slice("a", None), vkml.ArgumentError, "slice"),
    ((slice(None), [0, 1], [0, 1, 2]), vkml.ShapeError, "broadcast"),
)


@pytest.mark.parametrize(("key", "error", "words"), ERRORS, ids=lambda v: repr(v)[:40])
def test_wrong_key(key: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        vkml.tensor(X)[key].realize()


def test_items_cannot_be_set() -> None:
    with pytest.raises(TypeError):
        vkml.tensor(X)[0] = 1.0  # type: ignore[index]


TESTS = {"getitem": test_getitem}

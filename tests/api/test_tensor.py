"""Tensor itself: properties, reading, operators, in-place forms, leaves."""

from __future__ import annotations

import copy
import operator
import pickle
from typing import Any

import numpy as np
import pytest
import torch

import vkml

from .support import DTYPES

ROW = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def test_properties() -> None:
    x = vkml.tensor(ROW)
    assert (x.shape, x.ndim, x.size, x.numel()) == ((2, 3), 2, 6, 6)
    assert x.dtype is vkml.float32 and x.device == "cpu" and x.defined()
    assert not x.requires_grad and x.is_leaf and x.grad is None
    assert x.T.tolist() == [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]
    assert vkml.tensor(1.0).T.shape == () and vkml.ones(2, 3, 4).T.shape == (4, 3, 2)


CHAINS = (
    lambda x: x,
    lambda x: x.permute(2, 0, 1),
    lambda x: x.transpose(0, 2),
    lambda x: x.transpose(0, 1).transpose(0, 1),
    lambda x: x[1],
    lambda x: x[:, 1:],
    lambda x: x[:, ::2, 1],
    lambda x: x[:, :, None],
    lambda x: x[1:2].expand(4, 3, 4),
    lambda x: x.permute(2, 0, 1)[1:, :, ::2],
    lambda x: x.reshape(6, 4).transpose(0, 1),
    lambda x: x[:, :, 1:3].reshape(2, 3, 2, 1),
    lambda x: x[:, 0].reshape(2, 2, 2),
    lambda x: x.transpose(0, 1).reshape(24),
    lambda x: x.unsqueeze(0).squeeze(0),
    lambda x: x.flatten(),
    lambda x: x.transpose(0, 1).contiguous(),
    lambda x: x[:1, :, :1],
)


@pytest.mark.parametrize("chain", CHAINS)
def test_strides_are_pytorchs(chain: Any) -> None:
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    got, want = chain(vkml.tensor(values)), chain(torch.from_numpy(values))
    assert got.shape == tuple(want.shape)
    sized = [i for i, d in enumerate(got.shape) if d > 1]
    assert [got.strides[i] for i in sized] == [want.stride()[i] for i in sized]
    assert got.is_contiguous == want.is_contiguous()
    assert got.numpy().tolist() == want.tolist()
    assert got.contiguous().is_contiguous


def test_negative_steps_have_negative_strides() -> None:
    x = vkml.tensor(ROW)[:, ::-1]
    assert x.strides == (3, -1) and not x.is_contiguous
    assert x.tolist() == [[3.0, 2.0, 1.0], [6.0, 5.0, 4.0]]


# Reading.
def test_item_and_tolist() -> None:
    for value in (1.5, 2, True):
        x = vkml.tensor(value)
        assert x.item() == value and type(x.item()) is type(value)
        assert x.tolist() == value and type(x.tolist()) is type(value)
        assert vkml.tensor([[value]]).item() == value
    assert vkml.tensor([]).tolist() == [] and vkml.zeros(0, 2).tolist() == []
    for shape in ((2,), (0,)):
        with pytest.raises(vkml.ShapeError, match="expected one"):
            vkml.zeros(shape).item()


def test_numpy_is_a_copy() -> None:
    x = vkml.tensor(ROW)
    for read in (x.numpy, lambda: np.asarray(x), lambda: np.array(x), lambda: np.from_dlpack(x)):
        a = read()
        assert a.tolist() == ROW and a.dtype == np.float32
        if a.flags.writeable:
            a[:] = 0
        assert x.tolist() == ROW


def test_array_protocol() -> None:
    x = vkml.tensor(ROW)
    assert np.asarray(x, dtype=np.float64).dtype == np.float64
    assert np.asarray(x.T).tolist() == np.array(ROW).T.tolist()
    assert np.stack([np.asarray(x), np.asarray(x)]).shape == (2, 2, 3)
    assert np.array(x, copy=True).tolist() == ROW
    with pytest.raises(ValueError, match="copy"):
        np.array(x, copy=False)
    assert np.asarray(vkml.tensor(2.0)).shape == ()


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack(dtype: vkml.DType) -> None:
    x = vkml.tensor([[1, 0], [0, 1]], dtype=dtype)
    assert x.__dlpack_device__() == (1, 0)
    for view in (x, x.T, x[1:], x[:, ::-1]):
        assert np.from_dlpack(view).tolist() == view.tolist()
    assert torch.from_dlpack(x).tolist() == x.tolist()


def test_len_and_iteration() -> None:
    x = vkml.tensor(ROW)
    assert len(x) == 2 and [r.tolist() for r in x] == ROW
    _, second = x
    assert second.tolist() == ROW[1]
    assert list(vkml.zeros(0, 2)) == []
    for function in (len, iter):
        with pytest.raises(TypeError, match="rank-0"):
            function(vkml.tensor(1.0))


def test_conversion_to_python() -> None:
    assert bool(vkml.tensor(2.0)) and not vkml.tensor([0]) and bool(vkml.tensor([[True]]))
    assert float(vkml.tensor(2)) == 2.0 and int(vkml.tensor([2.7])) == 2
    assert operator.index(vkml.tensor(3)) == 3 and [1, 2, 3][vkml.tensor(1)] == 2
    assert list(range(vkml.tensor(2, dtype=vkml.int32))) == [0, 1]
    for function in (bool, float, int, operator.index):
        with pytest.raises(vkml.ShapeError, match="expected one"):
            function(vkml.tensor([1, 2]))
        with pytest.raises(vkml.ShapeError, match="expected one"):
            function(vkml.zeros(0, dtype=vkml.int64))
    with pytest.raises(TypeError, match="integer"):
        operator.index(vkml.tensor(1.0))


def test_format() -> None:
    assert f"{vkml.tensor(1.2345):.2f}" == "1.23" and f"{vkml.tensor(7)}" == "tensor(7)"


# Operators.
BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow")
COMPARE = ("lt", "le", "gt", "ge", "eq", "ne")


@pytest.mark.parametrize("name", (*BINARY, *COMPARE))
def test_operators_with_numbers_on_both_sides(name: str) -> None:
    function = getattr(operator, name)
    x, t = vkml.tensor([1.5, 2.0, 4.0]), torch.tensor([1.5, 2.0, 4.0])
    for number in (2, 2.5, -1):
        for got, want in (
            (function(x, number), function(t, number)),
            (function(number, x), function(number, t)),
        ):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=2e-7)
    for number in (np.float32(2), np.float64(2.5), np.int64(2), np.int32(2)):
        got = function(x, number)
        assert got.tolist() == function(x, number.item()).tolist()
        assert function(number, x).tolist() == function(number.item(), x).tolist()


def test_unary_operators() -> None:
    x = vkml.tensor([1.0, -2.0])
    assert (-x).tolist() == [-1.0, 2.0] and abs(x).tolist() == [1.0, 2.0]
    assert (~vkml.tensor([True, False])).tolist() == [False, True]
    assert (~vkml.tensor([1, 0])).tolist() == [-2, -1]


def test_bit_operators() -> None:
    a, b = vkml.tensor([True, True, False]), vkml.tensor([True, False, False])
    assert (a & b).tolist() == [True, False, False] and (a | b).tolist() == [True, True, False]
    assert (a ^ b).tolist() == [False, True, False] and (True ^ b).tolist() == [False, True, True]
    assert (6 & vkml.tensor([3, 5])).tolist() == [2, 4]


def test_matmul_operator() -> None:
    x = vkml.tensor(ROW)
    assert (x @ x.T).tolist() == [[14.0, 32.0], [32.0, 77.0]]
    assert (x @ vkml.ones(3)).tolist() == [6.0, 15.0]


@pytest.mark.parametrize("name", (*BINARY, "matmul", "lt", "ge"))
def test_numpy_arrays_beside_a_tensor_are_refused(name: str) -> None:
    function = getattr(operator, name)
    x, array = vkml.tensor([1.0, 2.0]), np.array([1.0, 2.0])
    for a, b in ((x, array), (array, x), (x, "a"), (x, None), ([1.0], x)):
        with pytest.raises(TypeError):
            function(a, b)


def test_equality_with_other_objects_is_pythons() -> None:
    x = vkml.tensor([1.0])
    assert (x == None) is False and (x != "a") is True  # noqa: E711
    assert hash(x) == hash(x) and len({x, x, vkml.tensor([1.0])}) == 2


# Changing what a handle stands for.
IN_PLACE = {"iadd": [3.0, 4.0], "isub": [-1.0, 0.0], "imul": [2.0, 4.0], "itruediv": [0.5, 1.0]}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_operators_keep_the_handle(name: str) -> None:
    function, want = getattr(operator, name), IN_PLACE[name]
    for leaf in (False, True):
        x = vkml.tensor([1.0, 2.0], requires_grad=leaf)
        alias, before = x, x * 1
        with vkml.no_grad():
            for other in (2.0, vkml.tensor(2.0)):
                x = alias
                alias.assign_(vkml.tensor([1.0, 2.0]))
                x = function(x, other)
                assert x is alias and x.tolist() == want
        assert x.requires_grad == leaf and x.is_leaf and before.tolist() == [1.0, 2.0]


def test_in_place_operators_keep_the_dtype() -> None:
    x = vkml.tensor([1, 2], dtype=vkml.int32)
    x += 1
    assert x.dtype is vkml.int32 and x.tolist() == [2, 3]
    h = vkml.tensor([1.0], dtype=vkml.float16)
    h *= vkml.tensor([2.0])
    assert h.dtype is vkml.float16 and h.tolist() == [2.0]


def test_in_place_on_a_differentiable_tensor_is_a_new_tensor() -> None:
    x = vkml.tensor([1.0, 2.0], requires_grad=True)
    y = x
    y += 1
    assert y is not x and x.tolist() == [1.0, 2.0] and y.tolist() == [2.0, 3.0]
    (y * y).sum().backward()
    assert x.grad.tolist() == [4.0, 6.0]


def test_assign_takes_values_of_other_shapes_and_dtypes() -> None:
    x = vkml.zeros(2, 3)
    assert x.assign_(vkml.tensor([1, 2, 3])) is x
    assert x.tolist() == [[1.0, 2.0, 3.0]] * 2 and x.dtype is vkml.float32
    assert x.assign_(5).tolist() == [[5.0] * 3] * 2
    assert x.assign_(np.float32(0.5)).tolist() == [[0.5] * 3] * 2
    with pytest.raises(vkml.ShapeError):
        x.assign_(vkml.ones(2))
    with pytest.raises(vkml.ArgumentTypeError):
        x.assign_("a")  # type: ignore[arg-type]
    assert x.tolist() == [[0.5] * 3] * 2


def test_assign_to_a_leaf_needs_no_grad() -> None:
    x = vkml.tensor([1.0], requires_grad=True)
    with pytest.raises(vkml.GradientError, match="no_grad"):
        x.assign_(2.0)
    assert x.tolist() == [1.0]
    with vkml.no_grad():
        x.assign_(2.0)
    (x * x).sum().backward()
    assert x.requires_grad and x.is_leaf and x.grad.tolist() == [4.0]


def test_only_handles_that_were_assigned_to_change() -> None:
    x = vkml.tensor([1.0, 2.0])
    same, view, detached = x.reshape(2), x[:1], x.detach()
    x.assign_(vkml.tensor([5.0, 6.0]))
    assert x.tolist() == [5.0, 6.0]
    for other in (same, view, detached):
        assert other.tolist() == [1.0, 2.0][: other.size]


# Leaves.
def test_is_leaf_and_requires_grad() -> None:
    x = vkml.tensor([1.0], requires_grad=True)
    y = x * 2
    assert x.is_leaf and not y.is_leaf and y.requires_grad and y.detach().is_leaf
    assert vkml.ones(1).requires_grad_().requires_grad
    assert not vkml.ones(1, requires_grad=True).requires_grad_(False).requires_grad
    with pytest.raises(vkml.DTypeError, match="floating"):
        vkml.tensor([1]).requires_grad_()
    with pytest.raises(vkml.DTypeError, match="floating"):
        vkml.tensor([1], requires_grad=True)
    with pytest.raises(vkml.GradientError, match="detach"):
        y.requires_grad_(False)


def test_requires_grad_of_a_lazy_leaf() -> None:
    x = vkml.rand(3, seed=1)
    y = (x * 2).requires_grad_()
    (y * y).sum().backward()
    np.testing.assert_array_equal(y.grad.numpy(), 2 * y.numpy())
    assert not x.requires_grad


def test_grad_setter() -> None:
    x = vkml.tensor([1.0, 2.0], requires_grad=True)
    x.grad = vkml.tensor([3.0, 4.0])
    x.sum().backward()
    assert x.grad.tolist() == [4.0, 5.0]
    x.grad = None
    assert x.grad is None
    for wrong, error in (
        (3.0, vkml.ArgumentTypeError),
        (vkml.ones(3), vkml.ShapeError),
        (vkml.ones(2, dtype=vkml.float16), (vkml.ShapeError, vkml.DTypeError)),
    ):
        with pytest.raises(error):
            x.grad = wrong  # type: ignore[assignment]
        assert x.grad is None


def test_deepcopy() -> None:
    x = vkml.tensor([1.0, 2.0], requires_grad=True)
    y = copy.deepcopy(x)
    assert y is not x and y.requires_grad and y.is_leaf and y.tolist() == x.tolist()
    (y * 3).sum().backward()
    assert x.grad is None and y.grad.tolist() == [3.0, 3.0]
    with vkml.no_grad():
        y += 1
    assert x.tolist() == [1.0, 2.0]
    shared = copy.deepcopy([x, x])
    assert shared[0] is shared[1]
    assert copy.copy(vkml.tensor([1])).tolist() == [1]
    with pytest.raises(vkml.GradientError, match="detach"):
        copy.deepcopy(x * 2)


def test_pickle_is_refused() -> None:
    with pytest.raises(TypeError, match="save"):
        pickle.dumps(vkml.tensor([1.0]))


def test_tensors_are_not_made_by_the_class() -> None:
    with pytest.raises(vkml.ArgumentTypeError, match=r"vkml\.tensor"):
        vkml.Tensor([1.0])  # type: ignore[arg-type]


def test_every_uploaded_nan_becomes_the_contracts() -> None:
    odd = np.array([0x7F800001, 0xFFC00000, 0x7FFFFFFF, 0x3F800000], np.uint32).view(np.float32)
    kept = vkml.tensor(odd).numpy().view(np.uint32)
    assert [hex(v) for v in kept] == ["0x7fc00000"] * 3 + ["0x3f800000"]
    half = vkml.tensor(np.array([0xFE01], np.uint16).view(np.float16)).numpy().view(np.uint16)
    assert hex(half[0]) == "0x7e00"


def test_random_functions_take_a_shape_and_a_seed_in_order() -> None:
    want = vkml.rand(2, 3, seed=5, offset=7).tolist()
    assert vkml.rand((2, 3), 5, 7).tolist() == vkml.rand([2, 3], 5, offset=7).tolist() == want
    with pytest.raises(vkml.ArgumentTypeError, match=r"rand: expected \(shape, seed, offset\)"):
        vkml.rand((2, 3), 5, seed=6)


@pytest.mark.parametrize("name", ["add", "mul", "truediv", "pow", "matmul", "lt", "eq"])
def test_a_numpy_array_beside_a_tensor_is_refused_with_advice(name: str) -> None:
    function, array, x = getattr(operator, name), np.ones((2, 2), np.float32), vkml.ones(2, 2)
    for call in (lambda: function(array, x), lambda: function(x, array)):
        with pytest.raises(vkml.ArgumentTypeError, match=r"vkml\.tensor\(array\)"):
            call()

"""realize, assign, backward, grad, detach, no_grad, eager mode."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import vkml

from .support import GRADIENT, assert_close


def test_realize() -> None:
    x = vkml.tensor([1.0, 2.0])
    y, z = x + 1, x * 3
    assert vkml.realize(y, z) is None
    assert y.node.storage is not None and z.node.storage is not None
    vkml.realize()
    vkml.realize([y, x.exp()])
    assert (x + 2).realize().tolist() == [3.0, 4.0]


def test_plan() -> None:
    x = vkml.tensor([1.0, 2.0])
    y = (x * x + 1).sum()
    ops = [call.op for step in vkml.plan(y).steps for call in step.calls]
    assert ops == ["mul", "add", "sum"]
    assert y.node.storage is None and "sum" in str(vkml.plan([y]))
    with pytest.raises(vkml.ArgumentError, match="at least one"):
        vkml.plan()
    with pytest.raises(vkml.ArgumentTypeError, match="int"):
        vkml.plan(3)  # type: ignore[arg-type]


def test_asarray() -> None:
    x = vkml.tensor([[1, 2]], dtype=vkml.int32)
    a = vkml.asarray(x)
    assert a.dtype == np.int32 and a.tolist() == [[1, 2]]
    a[:] = 0
    assert x.tolist() == [[1, 2]]


def test_from_numpy() -> None:
    for dtype in (np.bool_, np.int32, np.int64, np.float16, np.float32):
        a = np.array([[0, 1], [1, 1]], dtype)
        x = vkml.from_numpy(a)
        assert x.dtype.numpy == a.dtype
        a[:] = 0
        assert x.tolist() == [[0, 1], [1, 1]]
    assert vkml.from_numpy(np.array([0.1])).dtype is vkml.float32
    assert vkml.from_numpy(np.arange(6).reshape(2, 3).T).tolist() == [[0, 3], [1, 4], [2, 5]]
    assert vkml.from_numpy(np.arange(6)[::-2]).tolist() == [5, 3, 1]
    assert vkml.from_numpy(np.array([1.0, 2.0], ">f4")).tolist() == [1.0, 2.0]
    assert vkml.from_numpy(np.array(3.0)).shape == ()


def test_detach() -> None:
    x = vkml.tensor([2.0], requires_grad=True)
    y = (x * 3).detach()
    assert not y.requires_grad and y.is_leaf and y.tolist() == [6.0]
    (x * vkml.detach(x)).sum().backward()
    assert x.grad.tolist() == [2.0]


def test_backward() -> None:
    x = vkml.tensor([1.0, 2.0], requires_grad=True)
    vkml.backward((x * x).sum())
    assert x.grad.tolist() == [2.0, 4.0]
    (x * 3).backward(vkml.tensor([1.0, 10.0]))
    assert x.grad.tolist() == [5.0, 34.0]
    x.grad = None
    y = (x * x).sum()
    y.backward(retain_graph=True)
    y.backward()
    assert x.grad.tolist() == [4.0, 8.0]
    with pytest.raises(vkml.GradientError, match="retain_graph"):
        y.backward()


def test_backward_through_a_shared_part_of_a_graph() -> None:
    x = vkml.tensor([1.0, -2.0, 0.5], requires_grad=True)
    t = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)

    def function(v, tanh, exp):  # type: ignore[no-untyped-def]
        a = exp(v * v)
        b = tanh(a) + a * v
        return (b * a + v).sum()

    function(x, vkml.tanh, vkml.exp).backward()
    function(t, torch.tanh, torch.exp).backward()
    assert_close(x.grad.numpy(), t.grad.numpy(), GRADIENT, signs=False)


def test_intermediate_tensors_get_no_grad() -> None:
    x = vkml.tensor([1.0], requires_grad=True)
    y = x * 2
    y.sum().backward()
    assert y.grad is None and x.grad is not None


def test_grad() -> None:
    x = vkml.tensor([1.0, 3.0], requires_grad=True)
    y = vkml.tensor([2.0, 5.0], requires_grad=True)
    unused = vkml.tensor([1.0], requires_grad=True)
    gx, gy = vkml.grad((x * y).sum(), [x, y])
    assert (gx.tolist(), gy.tolist()) == ([2.0, 5.0], [1.0, 3.0])
    assert x.grad is None and not gx.requires_grad
    (g,) = vkml.grad([x * 2, x * x], x, [vkml.ones(2), vkml.ones(2)])
    assert g.tolist() == [4.0, 8.0]
    with pytest.raises(vkml.GradientError, match="allow_unused"):
        vkml.grad(x.sum(), [unused])
    assert vkml.grad(x.sum(), [unused], allow_unused=True) == (None,)
    middle = x * x
    (g,) = vkml.grad((middle * 3).sum(), middle)
    assert g.tolist() == [3.0, 3.0]
    (g,) = vkml.grad(x, x, vkml.tensor([7.0, 8.0]))
    assert g.tolist() == [7.0, 8.0]


def test_higher_derivatives() -> None:
    x = vkml.tensor(2.0, requires_grad=True)
    value = x**5
    expected = [80.0, 160.0, 240.0, 240.0, 120.0]
    for want in expected:
        (value,) = vkml.grad(value, x, create_graph=True)
        assert value.item() == want


def test_assign() -> None:
    a, b = vkml.tensor([1.0, 2.0]), vkml.tensor([3.0, 4.0])
    assert vkml.assign([a, b], [b, a]) is None
    assert (a.tolist(), b.tolist()) == ([3.0, 4.0], [1.0, 2.0])
    vkml.assign(a, vkml.tensor(7))
    assert a.tolist() == [7.0, 7.0] and a.dtype is vkml.float32


def test_assign_checks_everything_first() -> None:
    a, b = vkml.tensor([1.0, 2.0]), vkml.tensor([3.0, 4.0])
    leaf = vkml.tensor([0.0], requires_grad=True)
    for dests, srcs, error in (
        ([a, b], [b], vkml.ArgumentError),
        ([a, b], [b, vkml.ones(3)], vkml.ShapeError),
        ([a, leaf], [b, vkml.ones(1)], vkml.GradientError),
        ([a, b], [b, 3], vkml.ArgumentTypeError),
    ):
        with pytest.raises(error):
            vkml.assign(dests, srcs)
        assert (a.tolist(), b.tolist()) == ([1.0, 2.0], [3.0, 4.0])


def test_no_grad_and_enable_grad() -> None:
    x = vkml.tensor([1.0], requires_grad=True)
    with vkml.no_grad():
        assert not (x * 2).requires_grad
        with vkml.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad
        assert vkml.ones(1, requires_grad=True).requires_grad
    assert (x * 2).requires_grad

    @vkml.no_grad()
    def double(t: vkml.Tensor) -> vkml.Tensor:
        return t * 2

    assert not double(x).requires_grad and not double(x).requires_grad
    with pytest.raises(KeyError), vkml.no_grad():
        raise KeyError
    assert (x * 2).requires_grad


def test_eager_mode() -> None:
    assert not vkml.is_eager()
    with vkml.eager_mode():
        assert vkml.is_eager()
        assert (vkml.ones(2) + 1).node.storage is not None
        with vkml.eager_mode(False):
            assert not vkml.is_eager()
    assert not vkml.is_eager()
    assert (vkml.ones(2) + 1).node.storage is None
    vkml.set_eager(True)
    try:
        assert vkml.is_eager()
    finally:
        vkml.set_eager(False)


@pytest.mark.parametrize("eager", [False, True])
def test_comparisons_have_no_gradient_and_say_so(eager: bool) -> None:
    """A computed value has forgotten why, so only a lazy one names the operation."""
    x = vkml.tensor([1.0, 2.0], requires_grad=True)
    with vkml.eager_mode(eager):
        for y in (x.sign(), (x > 1).to(vkml.float32), x.argmax().to(vkml.float32)):
            assert not y.requires_grad
            words = "requires_grad=True" if eager else "has no gradient"
            with pytest.raises(vkml.GradientError, match=words):
                y.sum().backward()


TESTS = {
    "realize": test_realize,
    "plan": test_plan,
    "asarray": test_asarray,
    "from_numpy": test_from_numpy,
    "detach": test_detach,
    "backward": test_backward,
    "grad": test_grad,
    "assign": test_assign,
}

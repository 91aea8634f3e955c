"""Module: registration, walking, state, modes, hooks and repr, beside PyTorch's."""

from __future__ import annotations

import copy
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import vkml
from vkml import nn


def tangled(lib: Any, tensor: Callable[[list[float]], Any]) -> Any:
    """Build the same unusual model from vkml's nn or PyTorch's."""

    class Inner(lib.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", tensor([0.0]))
            self.register_buffer("scratch", tensor([1.0]), persistent=False)
            self.scale = lib.Parameter(tensor([2.0, 3.0]))
            self.register_parameter("absent", None)

    class Outer(lib.Module):
        def __init__(self) -> None:
            super().__init__()
            self.last = None
            self.body = lib.Sequential(lib.Linear(3, 2), lib.ReLU(), Inner())
            self.offset = lib.Parameter(tensor([1.0]))
            self.again = self.body[0]
            self.tied = self.offset
            self.head = lib.Linear(2, 1, bias=False)
            self.last = Inner()

    return Outer()


@pytest.fixture
def pair() -> tuple[Any, Any]:
    return tangled(nn, vkml.tensor), tangled(torch.nn, torch.tensor)


@pytest.mark.parametrize(
    "listing",
    [
        lambda m: list(m.state_dict()),
        lambda m: [k for k, _ in m.named_parameters()],
        lambda m: [k for k, _ in m.named_parameters(recurse=False)],
        lambda m: [k for k, _ in m.named_parameters("net")],
        lambda m: [k for k, _ in m.named_buffers()],
        lambda m: [k for k, _ in m.named_modules()],
        lambda m: [k for k, _ in m.named_children()],
        lambda m: [tuple(p.shape) for p in m.parameters()],
        lambda m: [tuple(b.shape) for b in m.buffers()],
        lambda m: [type(c).__name__ for c in m.modules()],
        lambda m: [type(c).__name__ for c in m.children()],
        lambda m: {k: tuple(t.shape) for k, t in m.state_dict().items()},
    ],
)
def test_names_and_order_are_pytorchs(pair: tuple[Any, Any], listing: Callable[..., Any]) -> None:
    ours, theirs = pair
    assert listing(ours) == listing(theirs)


def test_apply_visits_in_pytorchs_order(pair: tuple[Any, Any]) -> None:
    visits: list[list[str]] = []
    for model in pair:
        seen: list[str] = []
        assert model.apply(lambda m, seen=seen: seen.append(type(m).__name__)) is model
        visits.append(seen)
    assert visits[0] == visits[1]


def build_reprs(lib: Any) -> list[Any]:
    class Named(lib.Module):
        def extra_repr(self) -> str:
            return "one\ntwo"

    named = Named()
    named.child = lib.Sequential(OrderedDict(first=lib.Tanh(), second=lib.Sigmoid()))
    named.missing = lib.Linear(1, 1)
    named.missing = None
    return [
        named,
        lib.Module(),
        lib.Sequential(),
        lib.Linear(3, 4),
        lib.Linear(3, 4, bias=False),
        lib.Sequential(lib.Flatten(), lib.Sequential(lib.Linear(3, 4), lib.GELU()), lib.ReLU()),
        lib.Flatten(0, 2),
        lib.Dropout(0.25),
        lib.CrossEntropyLoss(),
        lib.MSELoss(),
        lib.Conv2d(3, 8, 3, padding=1),
        lib.Conv2d(4, 8, (3, 5), stride=2, padding=(1, 2), dilation=2, groups=2, bias=False),
        lib.MaxPool2d(2),
        lib.MaxPool2d((3, 2), 1, padding=1, dilation=2),
    ]


def test_repr_is_pytorchs() -> None:
    for ours, theirs in zip(build_reprs(nn), build_reprs(torch.nn), strict=True):
        assert repr(ours) == repr(theirs)
    assert repr(nn.Parameter(vkml.ones(2))) == repr(torch.nn.Parameter(torch.ones(2)))


def test_registration_moves_names_between_tables() -> None:
    m = nn.Module()
    m.x = 3
    m.x = nn.Parameter(vkml.ones(2))
    assert [k for k, _ in m.named_parameters()] == ["x"] and "x" not in m.__dict__
    m.x = nn.ReLU()
    assert not list(m.parameters()) and [k for k, _ in m.named_children()] == ["x"]
    del m.x
    assert not hasattr(m, "x") and not list(m.children())
    m.register_buffer("b", vkml.zeros(1), persistent=False)
    assert "b" in dir(m) and not m.state_dict()
    m.b = vkml.ones(3)
    assert m.b.shape == (3,) and next(m.buffers()) is m.b
    m.b = nn.Parameter(vkml.ones(1))
    assert list(m.state_dict()) == ["b"] and not list(m.buffers())
    m.b = None
    assert m.b is None and not m.state_dict()
    m.plain = vkml.ones(2)
    assert not list(m.buffers()) and m.plain.shape == (2,)
    del m.plain
    with pytest.raises(AttributeError):
        del m.plain


def test_what_may_not_be_registered() -> None:
    m = nn.Linear(2, 2)
    for value in (1.0, vkml.ones(2, 2), "text"):
        with pytest.raises(TypeError, match="weight is registered"):
            m.weight = value
    with pytest.raises(ValueError, match="already exists"):
        m.register_buffer("forward", vkml.ones(1))
    for name in ("", "a.b", 3):
        with pytest.raises(ValueError, match="is not a name"):
            m.register_module(name, nn.ReLU())
    with pytest.raises(TypeError, match="expected a Parameter or None, got Tensor"):
        m.register_parameter("p", vkml.ones(1))
    with pytest.raises(AttributeError, match="Linear: has no attribute 'wieght'"):
        _ = m.wieght

    class Forgetful(nn.Module):
        def __init__(self) -> None:
            self.layer = nn.ReLU()

    with pytest.raises(AttributeError, match=r"super\(\).__init__\(\)"):
        Forgetful()
    with pytest.raises(NotImplementedError, match=r"Module: forward\(\)"):
        nn.Module()(1)


def test_parameter_is_an_independent_leaf() -> None:
    source = vkml.tensor([1.0, 2.0])
    p = nn.Parameter(source)
    assert p.requires_grad and p.is_leaf and not source.requires_grad
    with vkml.no_grad():
        p.assign_(vkml.zeros(2))
    assert source.tolist() == [1.0, 2.0] and p.tolist() == [0.0, 0.0]
    assert not nn.Parameter(source, requires_grad=False).requires_grad
    (p * 3.0).sum().backward()
    assert p.grad is not None and p.grad.tolist() == [3.0, 3.0]
    with pytest.raises(TypeError, match="floating-point"):
        nn.Parameter(vkml.tensor([1, 2]))
    with pytest.raises(TypeError, match="expected a Tensor"):
        nn.Parameter([1.0])  # type: ignore[arg-type]


def test_deepcopy_gives_an_independent_model() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5, seed=1))
    twin = copy.deepcopy(model)
    assert all(isinstance(p, nn.Parameter) and p.requires_grad for p in twin.parameters())
    with vkml.no_grad():
        twin[0].weight.assign_(0.0)
    assert np.any(model[0].weight.numpy()) and not np.any(twin[0].weight.numpy())


def test_state_goes_to_pytorch_and_back(pair: tuple[Any, Any]) -> None:
    ours, theirs = pair
    arrays = {k: v.numpy() for k, v in theirs.state_dict().items()}
    assert ours.load_state_dict(arrays) == ([], [])
    for name, value in ours.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), arrays[name])
    other = tangled(nn, vkml.tensor)
    other.load_state_dict(ours.state_dict())
    theirs.load_state_dict({k: torch.from_numpy(v.numpy()) for k, v in other.state_dict().items()})


def test_state_dict_keeps_its_values() -> None:
    model = nn.Linear(2, 2)
    kept = model.state_dict()
    before = model.weight.numpy()
    with vkml.no_grad():
        model.weight.assign_(7.0)
    np.testing.assert_array_equal(kept["weight"].numpy(), before)
    assert not kept["weight"].requires_grad


def test_load_state_dict_tells_everything_and_changes_nothing() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    before = {k: v.numpy() for k, v in model.state_dict().items()}
    wrong = {
        "0.weight": np.ones((3, 2), np.float32),
        "0.bias": np.ones(4, np.float32),
        "1.weight": vkml.ones(3, 1),
        "2.weight": np.ones(1, np.float32),
    }
    with pytest.raises(ValueError) as caught:
        model.load_state_dict(wrong)
    for part in (
        "does not fit Sequential",
        "missing keys: 1.bias",
        "unexpected keys: 2.weight",
        "0.bias (got (4,), expected (3,))",
        "1.weight (got (3, 1), expected (1, 3))",
    ):
        assert part in str(caught.value)
    with pytest.raises(ValueError, match=r"wrong shapes: 0\.bias"):
        model.load_state_dict({"0.bias": vkml.ones(4)}, strict=False)
    with pytest.raises(TypeError, match="expected a dict"):
        model.load_state_dict([1])  # type: ignore[arg-type]
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name])
    partial = {"0.bias": vkml.full((3,), 5.0), "odd": vkml.ones(1)}
    keys = model.load_state_dict(partial, strict=False)
    assert keys.missing_keys == ["0.weight", "1.weight", "1.bias"]
    assert keys.unexpected_keys == ["odd"]
    assert model[0].bias.tolist() == [5.0, 5.0, 5.0] and model[0].bias.requires_grad


def test_to_converts_floating_point_members_and_gradients() -> None:
    model = nn.Linear(2, 1)
    model.register_buffer("steps", vkml.tensor([1, 2]))
    weight = model.weight
    model(vkml.ones(1, 2)).sum().backward()
    assert model.to(vkml.float16) is model
    assert model.weight is weight and weight.dtype is vkml.float16 and weight.requires_grad
    assert weight.grad is not None and weight.grad.dtype is vkml.float16
    assert model.steps.dtype is vkml.int64
    assert model(vkml.ones(1, 2, dtype=vkml.float16)).dtype is vkml.float16
    assert model.to("cpu").weight.dtype is vkml.float16
    with pytest.raises(TypeError, match="floating-point dtype"):
        model.to(vkml.int64)


def test_modes_gradients_and_freezing() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Dropout()))
    assert model.training
    assert model.eval() is model and not model[1][0].training
    assert model.train() is model and model[1][0].training
    model(vkml.ones(1, 2)).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    model.zero_grad(set_to_none=False)
    assert all(not np.any(p.grad.numpy()) for p in model.parameters())
    model.zero_grad()
    assert all(p.grad is None for p in model.parameters())
    assert not any(p.requires_grad for p in model.requires_grad_(False).parameters())


def test_hooks_see_and_replace_inputs_and_outputs() -> None:
    layer = nn.ReLU()
    seen: list[Any] = []
    first = layer.register_forward_pre_hook(lambda m, args: args[0] * -1.0)
    second = layer.register_forward_hook(lambda m, args, out: seen.append((m, args, out)))
    third = layer.register_forward_hook(lambda m, args, out: out + 1.0)
    x = vkml.tensor([-2.0, 3.0])
    assert layer(x).tolist() == [3.0, 1.0]
    module, args, out = seen[0]
    assert module is layer and args[0].tolist() == [2.0, -3.0] and out.tolist() == [2.0, 0.0]
    for handle in (first, second, third, third):
        handle.remove()
    assert layer(x).tolist() == [0.0, 3.0] and len(seen) == 1

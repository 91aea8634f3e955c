"""Layers, containers and losses: values and gradients beside PyTorch's, errors, starting values."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import vkml
from vkml import nn

LAYERS: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "Linear": (lambda lib: lib.Linear(5, 3), (4, 5)),
    "Linear, rank 1": (lambda lib: lib.Linear(5, 3), (5,)),
    "Linear, rank 4": (lambda lib: lib.Linear(5, 3), (2, 3, 4, 5)),
    "Linear, no bias": (lambda lib: lib.Linear(5, 3, bias=False), (4, 5)),
    "Flatten": (lambda lib: lib.Flatten(), (2, 3, 4)),
    "Flatten, range": (lambda lib: lib.Flatten(0, 1), (2, 3, 4)),
    "ReLU": (lambda lib: lib.ReLU(), (3, 4)),
    "Tanh": (lambda lib: lib.Tanh(), (3, 4)),
    "Sigmoid": (lambda lib: lib.Sigmoid(), (3, 4)),
    "GELU": (lambda lib: lib.GELU(), (3, 4)),
    "Dropout, p=0": (lambda lib: lib.Dropout(0.0), (3, 4)),
    "Dropout, eval": (lambda lib: lib.Dropout(0.9).eval(), (3, 4)),
    "Conv2d": (lambda lib: lib.Conv2d(3, 4, 3, padding=1), (2, 3, 5, 6)),
    "Conv2d, all": (
        lambda lib: lib.Conv2d(4, 6, (3, 2), 2, (1, 2), (2, 1), 2, bias=False),
        (2, 4, 7, 6),
    ),
    "MaxPool2d": (lambda lib: lib.MaxPool2d(2), (2, 3, 6, 4)),
    "MaxPool2d, all": (lambda lib: lib.MaxPool2d((3, 2), (2, 1), (1, 0), (1, 2)), (1, 2, 7, 6)),
    "Sequential": (
        lambda lib: lib.Sequential(
            lib.Conv2d(1, 2, 3), lib.ReLU(), lib.MaxPool2d(2), lib.Flatten(), lib.Linear(8, 3)
        ),
        (2, 1, 6, 6),
    ),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layer_agrees_with_pytorch(name: str) -> None:
    make, shape = LAYERS[name]
    ours, theirs = make(nn), make(torch.nn)
    theirs.load_state_dict({k: torch.from_numpy(v.numpy()) for k, v in ours.state_dict().items()})
    host = np.random.default_rng(len(name)).standard_normal(shape).astype(np.float32)
    x, t = vkml.tensor(host, requires_grad=True), torch.from_numpy(host).requires_grad_()
    y, u = ours(x), theirs(t)
    (y * y).sum().backward()
    (u * u).sum().backward()
    np.testing.assert_allclose(y.numpy(), u.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(x.grad.numpy(), t.grad.numpy(), rtol=1e-4, atol=1e-5)
    for (key, p), (_, q) in zip(ours.named_parameters(), theirs.named_parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), 1e-4, 1e-5, err_msg=key)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_agree_with_pytorch(reduction: str) -> None:
    rng = np.random.default_rng(1)
    logits = rng.standard_normal((6, 4)).astype(np.float32)
    target = rng.standard_normal((6, 4)).astype(np.float32)
    labels = np.array([0, 3, 1, 2, 2, 1])
    weight = np.array([1.0, 0.5, 2.0, 1.5], np.float32)
    mse = [lib.MSELoss(reduction=reduction) for lib in (nn, torch.nn)]
    np.testing.assert_allclose(
        mse[0](vkml.tensor(logits), vkml.tensor(target)).numpy(),
        mse[1](torch.from_numpy(logits), torch.from_numpy(target)).numpy(),
        rtol=1e-6,
    )
    options = {"ignore_index": 1, "reduction": reduction, "label_smoothing": 0.1}
    ours = nn.CrossEntropyLoss(vkml.tensor(weight), **options)
    theirs = torch.nn.CrossEntropyLoss(torch.from_numpy(weight), **options)
    np.testing.assert_allclose(
        ours(vkml.tensor(logits), vkml.tensor(labels)).numpy(),
        theirs(torch.from_numpy(logits), torch.from_numpy(labels)).numpy(),
        rtol=1e-5,
    )
    assert list(ours.state_dict()) == list(theirs.state_dict()) == ["weight"]


def test_sequential_is_a_list_of_modules() -> None:
    layers = [nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)]
    model = nn.Sequential(*layers)
    assert len(model) == 3 and list(model) == layers
    assert model[0] is layers[0] and model[-1] is layers[2]
    assert isinstance(model[1:], nn.Sequential) and list(model[1:].state_dict()) == [
        "2.weight",
        "2.bias",
    ]
    assert model.append(nn.Tanh()) is model and isinstance(model[3], nn.Tanh)
    named = nn.Sequential(OrderedDict(inner=layers[0], act=layers[1]))
    assert list(named.state_dict()) == ["inner.weight", "inner.bias"] and named.act is layers[1]
    with pytest.raises(IndexError, match="index 4 is outside its 4 modules"):
        _ = model[4]
    with pytest.raises(TypeError, match="0: expected a Module or None, got int"):
        nn.Sequential(3)  # type: ignore[arg-type]


def test_starting_values_are_uniform_and_seeded() -> None:
    nn.manual_seed(5)
    first = nn.Linear(400, 300)
    nn.manual_seed(5)
    again = nn.Linear(400, 300)
    after = nn.Linear(400, 300)
    for name, value in first.state_dict().items():
        array = value.numpy()
        np.testing.assert_array_equal(array, again.state_dict()[name].numpy())
        assert np.any(array != after.state_dict()[name].numpy())
        assert np.abs(array).max() <= 0.05  # 1/√400
    weight = first.weight.numpy()
    assert abs(weight.mean()) < 3e-4 and abs(weight.std() - 0.05 / 3**0.5) < 3e-4
    assert np.abs(weight).max() > 0.0499
    conv = nn.Conv2d(6, 4, (2, 5), groups=2)
    assert np.abs(conv.weight.numpy()).max() <= 1 / 30**0.5
    with vkml.eager_mode():
        nn.manual_seed(5)
        eager = nn.Linear(400, 300)
    np.testing.assert_array_equal(eager.weight.numpy(), weight)


def philox(counter: tuple[int, ...], key: tuple[int, int]) -> tuple[int, ...]:
    """Philox4x32-10 of Salmon et al. (2011), written for this test."""
    for i in range(10):
        k0, k1 = key[0] + 0x9E3779B9 * i, key[1] + 0xBB67AE85 * i
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        x, z = (b >> 32) ^ counter[1] ^ k0, (a >> 32) ^ counter[3] ^ k1
        counter = (x % 2**32, b % 2**32, z % 2**32, a % 2**32)
    return counter


def test_starting_values_come_from_the_written_generator() -> None:
    nn.manual_seed(7)
    layer = nn.Linear(3, 1)
    bound = 1 / 3**0.5
    for call, value in enumerate((layer.weight, layer.bias)):
        offset = 2**62 + call
        words = np.array(philox((0, 0, offset % 2**32, offset >> 32), (7, 0)), np.uint32)
        uniform = (words >> 8).astype(np.float32) * np.float32(2**-24)
        expected = uniform * np.float32(2 * bound) + np.float32(-bound)
        assert value is not None
        np.testing.assert_array_equal(value.numpy().ravel(), expected[: value.size])


def test_init_fills_in_place() -> None:
    p = nn.Parameter(vkml.zeros(1000))
    assert nn.init.uniform_(p, 2.0, 3.0) is p and p.requires_grad
    assert p.numpy().min() >= 2.0 and p.numpy().max() < 3.0
    nn.init.constant_(p, 0.5)
    assert np.all(p.numpy() == 0.5)
    with pytest.raises(ValueError, match="rank ≥ 2"):
        nn.init.fan_in((3,))


def test_dropout_masks_follow_the_seed_and_the_calls() -> None:
    x = vkml.ones(4000)
    layer, twin = nn.Dropout(0.25, seed=3), nn.Dropout(0.25, seed=3)
    first, second = layer(x).numpy(), layer(x).numpy()
    assert set(np.unique(first)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs((first == 0).mean() - 0.25) < 0.03
    assert np.any(first != second)
    np.testing.assert_array_equal(twin(x).numpy(), first)
    np.testing.assert_array_equal(twin(x).numpy(), second)
    free = nn.Dropout(0.25)
    nn.manual_seed(9)
    one = free(x).numpy()
    nn.manual_seed(9)
    np.testing.assert_array_equal(free(x).numpy(), one)
    assert layer.eval()(x) is x


def test_a_small_vgg_runs_forward_and_backward() -> None:
    channels = (3, 32, 64, 128)
    blocks = [
        [nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        for a, b in itertools.pairwise(channels)
    ]
    model = nn.Sequential(*itertools.chain(*blocks), nn.Flatten(), nn.Linear(2048, 100))
    logits = model(vkml.rand(2, 3, 32, 32, seed=1))
    assert logits.shape == (2, 100)
    nn.CrossEntropyLoss()(logits, vkml.tensor([3, 99])).backward()
    assert all(
        np.isfinite(p.grad.numpy()).all() and p.grad.numpy().any() for p in model.parameters()
    )


def test_bad_arguments() -> None:
    for make, message in (
        (lambda: nn.Linear(0, 3), "in_features: expected at least 1"),
        (lambda: nn.Linear(3, 0), "out_features: expected at least 1"),
        (lambda: nn.Conv2d(3, 4, 3, groups=2), "groups 2 must divide"),
        (lambda: nn.Dropout(1.5), "probability"),
        (lambda: nn.GELU("tanh"), "approximate"),
        (lambda: nn.MSELoss("max"), "reduction"),
        (lambda: nn.CrossEntropyLoss(reduction="max"), "reduction"),
        (lambda: nn.Linear(4, 2)(vkml.ones(3, 5)), "inner sizes differ"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


def test_functional_has_the_layers_functions() -> None:
    x, w, b = vkml.ones(2, 3), vkml.ones(4, 3), vkml.ones(4)
    assert nn.functional.linear(x, w, b).tolist() == [[4.0] * 4] * 2
    assert nn.functional.relu is vkml.relu
    assert all(callable(getattr(nn.functional, name)) for name in nn.functional.__all__)
    assert all(hasattr(torch.nn.functional, name) for name in nn.functional.__all__)

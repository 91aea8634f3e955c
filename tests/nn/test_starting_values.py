"""Starting values of layers: uniform within PyTorch's bounds, seeded, from a written generator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import vkml
from vkml import nn

UNIFORM: dict[str, Callable[[Any], Any]] = {
    "Linear": lambda lib: lib.Linear(400, 300),
    "Conv1d": lambda lib: lib.Conv1d(60, 100, 5),
    "Conv2d": lambda lib: lib.Conv2d(40, 64, (3, 5)),
    "Conv2d, groups": lambda lib: lib.Conv2d(60, 120, (2, 5), groups=2),
}


@pytest.mark.parametrize("name", UNIFORM)
def test_weights_and_biases_spread_as_pytorchs(name: str) -> None:
    torch.manual_seed(0)
    nn.manual_seed(0)
    ours, theirs = UNIFORM[name](nn), UNIFORM[name](torch.nn)
    bound = np.float32(ours.weight[0].size ** -0.5)
    for key, other in theirs.named_parameters():
        numbers = [getattr(ours, key).numpy(), other.detach().numpy()]
        for a in numbers:
            n = a.size
            assert np.abs(a).max() <= bound and np.abs(a).max() > bound * (1 - 20 / n)
            assert abs(a.mean()) < 4 * bound / np.sqrt(3 * n)
            assert abs(a.std() - bound / np.sqrt(3)) < 4 * bound / np.sqrt(n)
        assert numbers[0].shape == numbers[1].shape


def test_they_follow_the_seed() -> None:
    nn.manual_seed(5)
    first = nn.Linear(40, 30)
    nn.manual_seed(5)
    again = nn.Linear(40, 30)
    after = nn.Linear(40, 30)
    for name, value in first.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), again.state_dict()[name].numpy())
        assert np.any(value.numpy() != after.state_dict()[name].numpy())
    with vkml.eager_mode():
        nn.manual_seed(5)
        eager = nn.Linear(40, 30)
    np.testing.assert_array_equal(eager.weight.numpy(), first.weight.numpy())


def philox(counter: tuple[int, ...], key: tuple[int, int]) -> tuple[int, ...]:
    """Philox4x32-10 of Salmon et al. (2011), written for this test."""
    for i in range(10):
        k0, k1 = key[0] + 0x9E3779B9 * i, key[1] + 0xBB67AE85 * i
        a, b = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        x, z = (b >> 32) ^ counter[1] ^ k0, (a >> 32) ^ counter[3] ^ k1
        counter = (x % 2**32, b % 2**32, z % 2**32, a % 2**32)
    return counter


def test_they_come_from_the_written_generator() -> None:
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

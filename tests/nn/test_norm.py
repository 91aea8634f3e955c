"""LayerNorm, RMSNorm and GroupNorm: what must hold of any of them, options and errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import vkml
from vkml import nn

F = nn.functional


def numbers(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("offset", [0.0, 100.0, -3000.0])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_rows_have_mean_0_and_variance_1(offset: float, scale: float) -> None:
    x = vkml.tensor(numbers(5, 64) * np.float32(scale) + np.float32(offset))
    y = nn.LayerNorm(64, eps=0.0)(x).numpy().astype(np.float64)
    noise = 1e-5 + 1e-7 * abs(offset) / scale  # what rounding x has left of it
    assert np.abs(y.mean(1)).max() < noise and np.abs(y.std(1) - 1.0).max() < noise


def test_groups_of_all_and_of_one_channel_are_norms_that_are_known() -> None:
    x = vkml.tensor(numbers(3, 4, 5, 2))
    whole = F.layer_norm(x, (4, 5, 2)).numpy()
    np.testing.assert_array_equal(F.group_norm(x, 1).numpy(), whole)
    single = F.group_norm(x, 4).numpy()
    for i in range(3):
        alone = F.batch_norm(x[i : i + 1], None, None, training=True).numpy()[0]
        np.testing.assert_allclose(single[i], alone, 1e-5, 1e-6)


def test_rms_norm_ignores_the_sign_and_scale_of_its_input() -> None:
    x = numbers(4, 8)
    y = F.rms_norm(vkml.tensor(x), 8, eps=0.0).numpy()
    np.testing.assert_array_equal(F.rms_norm(vkml.tensor(-x), 8, eps=0.0).numpy(), -y)
    np.testing.assert_allclose(F.rms_norm(vkml.tensor(x * 64), 8, eps=0.0).numpy(), y, 1e-6)


@pytest.mark.parametrize("small", [1.0, 1e-3, 1e-4])
def test_rms_norms_default_eps_is_pytorchs(small: float) -> None:
    x = numbers(4, 8) * np.float32(small)
    ours = F.rms_norm(vkml.tensor(x), (8,)).numpy()
    np.testing.assert_allclose(ours, F_torch(x), 2e-6)


def F_torch(x: np.ndarray) -> np.ndarray:
    wanted: np.ndarray = torch.nn.functional.rms_norm(torch.from_numpy(x), (8,)).numpy()
    return wanted


def test_equal_numbers_give_the_bias_and_no_gradient() -> None:
    layer = nn.LayerNorm(4)
    x = vkml.full((2, 4), 3.0, requires_grad=True)
    y = layer(x)
    (y * y + y).sum().backward()
    assert not np.any(y.numpy()) and np.abs(x.grad.numpy()).max() < 1e-4


def test_starting_values_are_ones_and_zeros() -> None:
    for layer in (nn.LayerNorm((2, 3)), nn.GroupNorm(2, 4), nn.BatchNorm2d(3)):
        assert np.all(layer.weight.numpy() == 1.0) and not np.any(layer.bias.numpy())
    assert nn.LayerNorm(3, bias=False).bias is None
    assert nn.LayerNorm(3, elementwise_affine=False).weight is None
    assert not hasattr(nn.RMSNorm(3), "bias")


def test_float16_layers_give_float16() -> None:
    for layer in (nn.LayerNorm(4), nn.RMSNorm(4), nn.GroupNorm(2, 4)):
        layer.to(vkml.float16)
        assert layer(vkml.tensor(numbers(3, 4).astype(np.float16))).dtype is vkml.float16
    assert nn.LayerNorm(4, dtype=vkml.float16).weight.dtype is vkml.float16


def test_bad_arguments() -> None:
    x = vkml.ones(2, 6)
    for call, error, message in (
        (lambda: nn.LayerNorm(()), ValueError, "at least one size"),
        (lambda: nn.LayerNorm((3, 0)), ValueError, "expected at least 1, got 0"),
        (lambda: nn.LayerNorm(6, eps=float("nan")), ValueError, "eps: expected a number ≥ 0"),
        (lambda: nn.LayerNorm(6, bias=None), TypeError, "bias: expected True or False"),
        (lambda: nn.LayerNorm("6"), TypeError, "normalized_shape: expected an int"),
        (lambda: nn.LayerNorm(5)(x), ValueError, r"\(5,\) is not the end of shape \(2, 6\)"),
        (lambda: nn.RMSNorm(6, eps=-1.0), ValueError, "RMSNorm: eps"),
        (lambda: nn.RMSNorm((3, 6))(x), ValueError, "is not the end of shape"),
        (lambda: nn.GroupNorm(4, 6), ValueError, "num_groups 4 must divide num_channels 6"),
        (lambda: nn.GroupNorm(0, 6), ValueError, "num_groups: expected at least 1"),
        (lambda: nn.GroupNorm(2, 4)(x), ValueError, r"weight has shape \(4,\), expected \(6,\)"),
        (lambda: nn.GroupNorm(6, 6)(x[:1]), ValueError, "more than 1 value per channel"),
        (lambda: F.group_norm(vkml.ones(6), 2), ValueError, r"expected \(N, C, …\)"),
        (lambda: F.group_norm(x, 4), ValueError, "a number of groups that divides C"),
    ):
        with pytest.raises(error, match=message):
            call()

"""Pooling: all window sizes beside PyTorch's, what must not leak, errors."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import vkml
from vkml import nn

SIZES = list(itertools.product(range(1, 10), range(1, 10)))


@pytest.mark.parametrize(("n", "m"), SIZES)
def test_adaptive_windows_are_pytorchs(n: int, m: int) -> None:
    x = np.random.default_rng(n).standard_normal((2, 3, n, 4)).astype(np.float32)
    for layers in ([lib.AdaptiveAvgPool2d((m, 3)) for lib in (nn, torch.nn)],):
        ours, theirs = layers[0](vkml.tensor(x)), layers[1](torch.from_numpy(x))
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 2e-6, 2e-7)
        turned = vkml.tensor(np.ascontiguousarray(x.transpose(0, 1, 3, 2)))
        flipped = nn.functional.adaptive_avg_pool2d(turned, (3, m)).numpy()
        np.testing.assert_allclose(flipped.transpose(0, 1, 3, 2), ours.numpy(), 1e-6, 1e-6)


@pytest.mark.parametrize("hole", [np.nan, np.inf])
def test_what_is_not_finite_stays_in_its_windows(hole: float) -> None:
    x = np.ones((1, 1, 7, 7), np.float32)
    x[0, 0, 6, 6] = hole
    ours = nn.AdaptiveAvgPool2d(3)(vkml.tensor(x)).numpy()
    theirs = torch.nn.AdaptiveAvgPool2d(3)(torch.from_numpy(x)).numpy()
    np.testing.assert_array_equal(ours, theirs)
    assert np.isfinite(ours).sum() == 8


def test_the_mean_of_all_is_the_mean() -> None:
    x = vkml.rand(2, 3, 5, 7, seed=1)
    y = nn.AdaptiveAvgPool2d(1)(x)
    np.testing.assert_allclose(y.numpy()[..., 0, 0], x.mean((2, 3)).numpy(), 1e-6)


def test_padding_counts_or_does_not() -> None:
    x = vkml.ones(1, 1, 3, 3)
    with_zeros = nn.AvgPool2d(3, 1, 1)(x)[0, 0].numpy()
    assert with_zeros[1, 1] == 1.0 and with_zeros[0, 0] == np.float32(4 / 9)
    assert np.all(nn.AvgPool2d(3, 1, 1, count_include_pad=False)(x).numpy() == 1.0)


def test_float16_pools_give_float16() -> None:
    x = vkml.ones(1, 2, 5, 5, dtype=vkml.float16)
    for layer in (
        nn.AdaptiveAvgPool2d(3),
        nn.AvgPool2d(2, padding=1, count_include_pad=False),
        nn.MaxPool2d(2),
    ):
        y = layer(x)
        assert y.dtype is vkml.float16 and np.all(y.numpy() == 1.0)


def test_bad_arguments() -> None:
    pool = nn.functional.adaptive_avg_pool2d
    for call, error, message in (
        (lambda: nn.AdaptiveAvgPool2d(0), ValueError, "output_size: expected at least 1"),
        (lambda: nn.AdaptiveAvgPool2d((1, 2, 3)), ValueError, "expected an int or two, got 3"),
        (lambda: nn.AdaptiveAvgPool2d(None), TypeError, "output_size: expected an int"),
        (lambda: nn.AdaptiveAvgPool2d(2.5), TypeError, "output_size: expected an int"),
        (lambda: pool(vkml.ones(3, 4), 2), ValueError, r"expected \(N, C, H, W\) or \(C, H, W\)"),
        (lambda: pool(vkml.ones(1, 1, 0, 4), 2), ValueError, "no empty height or width"),
        (lambda: pool(vkml.ones(1, 1, 4, 4, dtype=vkml.int64), 2), TypeError, "floating-point"),
        (lambda: nn.AvgPool2d(2, count_include_pad=1), TypeError, "True or False"),
        (lambda: nn.AvgPool2d(2)(vkml.ones(4, 4)), ValueError, "avg_pool2d: input has shape"),
        (lambda: nn.MaxPool2d((2, 2, 2))(vkml.ones(1, 4, 4)), ValueError, "an int or two ints"),
    ):
        with pytest.raises(error, match=message):
            call()

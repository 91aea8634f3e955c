"""Dropout: masks by seed and by the number of calls."""

from __future__ import annotations

import numpy as np
import pytest

import vkml
from vkml import nn


def test_masks_follow_the_seed_and_the_calls() -> None:
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


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="probability"):
        nn.Dropout(1.5)

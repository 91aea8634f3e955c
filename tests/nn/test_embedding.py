"""Embedding: the padding row, indices out of range, starting values."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import vkml
from vkml import nn


def test_starting_values_are_normal_and_seeded() -> None:
    nn.manual_seed(4)
    layer = nn.Embedding(500, 200)
    nn.manual_seed(4)
    again = nn.Embedding(500, 200)
    weight = layer.weight.numpy()
    np.testing.assert_array_equal(weight, again.weight.numpy())
    assert abs(weight.mean()) < 0.01 and abs(weight.std() - 1.0) < 0.01
    assert abs((np.abs(weight) < 1.0).mean() - 0.6827) < 0.005
    assert 4.0 < np.abs(weight).max() < 6.0
    nn.manual_seed(4)
    padded = nn.Embedding(500, 200, padding_idx=-2).weight.numpy()
    assert not np.any(padded[498])
    np.testing.assert_array_equal(np.delete(padded, 498, 0), np.delete(weight, 498, 0))


@pytest.mark.parametrize("padding", [0, 3, -1])
def test_the_padding_row_is_read_but_not_trained(padding: int) -> None:
    layer = nn.Embedding(4, 2, padding_idx=padding)
    layer.load_state_dict({"weight": np.full((4, 2), 5.0, np.float32)})
    index = vkml.tensor([[0, 1, 2], [3, 3, 0]])
    y = layer(index)
    assert np.all(y.numpy() == 5.0)
    y.sum().backward()
    assert layer.weight.grad is not None
    counts = np.array([2.0, 1.0, 1.0, 2.0])
    counts[padding] = 0.0
    np.testing.assert_array_equal(layer.weight.grad.numpy(), np.stack([counts, counts], 1))


@pytest.mark.parametrize("bad", [-1, 7, 2**31])
def test_an_index_outside_the_table_is_told_when_it_is_computed(bad: int) -> None:
    layer = nn.Embedding(7, 2)
    y = layer(vkml.tensor([[0, bad]]))
    with pytest.raises(IndexError, match=f"{bad}.*7"):
        y.numpy()
    with pytest.raises(IndexError, match=f"{bad}.*7"), vkml.eager_mode():
        layer(vkml.tensor([[0, bad]]))
    assert layer(vkml.tensor([6])).shape == (1, 2)


def test_int32_and_empty_indices() -> None:
    layer = nn.Embedding(5, 3)
    wide, narrow = (layer(vkml.tensor([[4, 0]], dtype=d)) for d in (vkml.int64, vkml.int32))
    np.testing.assert_array_equal(wide.numpy(), narrow.numpy())
    assert layer(vkml.zeros(2, 0, dtype=vkml.int64)).numpy().shape == (2, 0, 3)


def test_repeated_indices_add_up_like_pytorchs() -> None:
    rng = np.random.default_rng(0)
    index, scale = rng.integers(0, 3, (40, 5)), rng.standard_normal((40, 5, 4)).astype(np.float32)
    ours, theirs = nn.Embedding(3, 4), torch.nn.Embedding(3, 4)
    (ours(vkml.tensor(index)) * vkml.tensor(scale)).sum().backward()
    (theirs(torch.from_numpy(index)) * torch.from_numpy(scale)).sum().backward()
    assert ours.weight.grad is not None and theirs.weight.grad is not None
    np.testing.assert_allclose(ours.weight.grad.numpy(), theirs.weight.grad.numpy(), 1e-5, 1e-5)


def test_bad_arguments() -> None:
    layer, embedding = nn.Embedding(5, 3), nn.functional.embedding
    index = vkml.tensor([1])
    for call, error, message in (
        (lambda: nn.Embedding(0, 3), ValueError, "num_embeddings: expected at least 1"),
        (lambda: nn.Embedding(3, 0), ValueError, "embedding_dim: expected at least 1"),
        (lambda: nn.Embedding(3, 2, 3), ValueError, "padding_idx: 3 is outside the 3 rows"),
        (lambda: nn.Embedding(3, 2, -4), ValueError, "padding_idx: -4 is outside the 3 rows"),
        (lambda: nn.Embedding(3, 2, 0.5), TypeError, "padding_idx: expected an int"),
        (lambda: layer(vkml.ones(2)), TypeError, "indices are float32, expected int64 or int32"),
        (lambda: layer([1]), TypeError, "input: expected a Tensor"),
        (lambda: layer(vkml.zeros(1, 1, 1, 1, dtype=vkml.int64)), ValueError, "at most rank 3"),
        (lambda: embedding(index, vkml.ones(3)), ValueError, r"expected \(rows, features\)"),
        (lambda: embedding(index, vkml.ones(3, 2), 7), ValueError, "outside the 3 rows"),
    ):
        with pytest.raises(error, match=message):
            call()

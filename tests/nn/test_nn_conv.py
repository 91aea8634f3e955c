"""Convolution layers: paddings by word, one sample, errors; a small network of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

import vkml
from vkml import nn

F, T = nn.functional, torch.nn.functional
WINDOWS = list(itertools.product(range(1, 6), range(1, 4)))


@pytest.mark.filterwarnings("ignore:Using padding='same'")  # PyTorch's
@pytest.mark.parametrize(("kernel", "dilation"), WINDOWS)
def test_same_keeps_the_size_as_pytorchs(kernel: int, dilation: int) -> None:
    rng = np.random.default_rng(kernel)
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((2, 3, 13), (4, 3, kernel)))
    ours = F.conv1d(vkml.tensor(x), vkml.tensor(w), padding="same", dilation=dilation)
    theirs = T.conv1d(torch.from_numpy(x), torch.from_numpy(w), padding="same", dilation=dilation)
    assert ours.shape == (2, 4, 13)
    np.testing.assert_allclose(ours.numpy(), theirs.numpy(), 1e-5, 1e-5)


def test_conv1d_is_conv2d_of_height_1() -> None:
    line = nn.Conv1d(4, 6, 3, 2, 1, 2, 2)
    plane = nn.Conv2d(4, 6, (1, 3), (1, 2), (0, 1), (1, 2), 2)
    state = line.state_dict()
    plane.load_state_dict({"weight": state["weight"].unsqueeze(2), "bias": state["bias"]})
    x = vkml.rand(2, 4, 9, seed=3)
    np.testing.assert_array_equal(line(x).numpy(), plane(x.unsqueeze(2)).squeeze(2).numpy())


def test_one_sample_is_a_batch_of_one() -> None:
    for layer, shape in ((nn.Conv1d(3, 2, 3), (3, 8)), (nn.Conv2d(3, 2, 3), (3, 5, 6))):
        x = vkml.rand(*shape, seed=1)
        np.testing.assert_array_equal(layer(x).numpy(), layer(x.unsqueeze(0)).numpy()[0])


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
    x = vkml.ones(1, 3, 5)
    for call, error, message in (
        (lambda: nn.Conv2d(3, 4, 3, groups=2), ValueError, "Conv2d: groups 2 must divide"),
        (lambda: nn.Conv1d(0, 4, 3), ValueError, "Conv1d: in_channels: expected at least 1"),
        (lambda: nn.Conv1d(3, 4, 0), ValueError, "kernel_size: expected at least 1"),
        (lambda: nn.Conv1d(3, 4, (1, 2)), ValueError, "kernel_size: .* sequence of 1, got 2"),
        (lambda: nn.Conv2d(3, 4, (1,)), ValueError, "kernel_size: .* sequence of 2, got 1"),
        (lambda: nn.Conv2d(3, 4, 3, padding="full"), ValueError, "padding: got 'full'"),
        (lambda: nn.Conv2d(3, 4, 3, 2, "same"), ValueError, "'same' needs stride 1"),
        (lambda: nn.Conv2d(3, 4, 3, padding_mode="reflect"), ValueError, "padding_mode"),
        (lambda: nn.Conv1d(3, 4, 3)(vkml.ones(5)), ValueError, r"expected \(N, C, L\) or \(C, L\)"),
        (lambda: nn.Conv1d(2, 4, 3)(x), ValueError, "channels"),
        (lambda: F.conv1d(x, vkml.ones(2, 3)), ValueError, r"expected \(O, C/groups, k\)"),
        (lambda: F.conv1d(x, vkml.ones(2, 3, 3), stride=2, padding="same"), ValueError, "stride 1"),
        (lambda: F.conv1d(x, vkml.ones(2, 3, 3), padding="all"), ValueError, "got 'all'"),
        (lambda: F.conv2d(x, "w"), TypeError, "weight: expected a Tensor"),
    ):
        with pytest.raises(error, match=message):
            call()

"""BatchNorm: running statistics over steps, one submission a step, and steps that fail."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import vkml
from tests.everywhere import same_everywhere
from tests.nn.layer_cases import close
from vkml import nn, optim
from vkml_core import runtime
from vkml_core.plugins import open_device

MOMENTA = [0.1, 0.75, 1.0, 0.0, None]


def batches(steps: int, shape: tuple[int, ...] = (4, 3, 5, 2)) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [(rng.standard_normal(shape) * 2 + i).astype(np.float32) for i in range(steps)]


def network(lib: Any) -> Any:
    return lib.Sequential(
        lib.Conv2d(3, 4, 3, bias=False), lib.BatchNorm2d(4), lib.ReLU(), lib.Flatten()
    )


def submissions() -> float:
    return open_device("cpu").stats()["submissions"]


@pytest.mark.parametrize("momentum", MOMENTA)
def test_running_statistics_follow_pytorchs_over_steps(momentum: float | None) -> None:
    ours, theirs = (lib.BatchNorm2d(3, momentum=momentum) for lib in (nn, torch.nn))
    for i, batch in enumerate(batches(8)):
        close(ours(vkml.tensor(batch)), theirs(torch.from_numpy(batch)), 2e-6, f"step {i}")
        for (name, a), (_, b) in zip(ours.named_buffers(), theirs.named_buffers(), strict=True):
            close(a, b, 1e-6, f"step {i}: {name}")
    for module in (ours, theirs):
        module.eval()
    x = batches(1)[0]
    close(ours(vkml.tensor(x)), theirs(torch.from_numpy(x)), 2e-6, "eval")
    assert ours.num_batches_tracked.item() == 8
    assert ours.num_batches_tracked.dtype is vkml.int64


def test_the_cumulative_average_is_the_mean_of_all_batches() -> None:
    layer, given = nn.BatchNorm2d(3, momentum=None), batches(5)
    for batch in given:
        layer(vkml.tensor(batch))
    means = np.mean([b.mean((0, 2, 3)) for b in given], 0)
    variances = np.mean([b.var((0, 2, 3), ddof=1) for b in given], 0)
    np.testing.assert_allclose(layer.running_mean.numpy(), means, 1e-5)
    np.testing.assert_allclose(layer.running_var.numpy(), variances, 1e-5)


def classifier(device: str = "cpu") -> nn.Sequential:
    nn.manual_seed(2)
    return nn.Sequential(*network(nn), nn.Linear(24, 2)).to(device)


def train(model: nn.Module, steps: int, reads: bool = True) -> list[Any]:
    device = next(model.parameters()).device
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    labels = vkml.tensor([0, 1, 0], device=device)
    losses = []
    for batch in batches(steps, (3, 3, 5, 4)):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(vkml.tensor(batch, device=device)), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item() if reads else loss)
    return losses


def test_training_gives_the_same_bits_everywhere() -> None:
    def program(device: str) -> dict[str, Any]:
        model = classifier(device)
        return {"losses": train(model, 4)} | model.state_dict()

    same_everywhere(program)


@pytest.mark.parametrize("reads", [True, False], ids=["loss read", "nothing read"])
def test_a_step_is_one_submission(reads: bool) -> None:
    model = classifier()
    start = submissions()
    losses = train(model, 6, reads)
    vkml.realize(*model.parameters(), *model.buffers())
    assert submissions() - start == len(losses) == 6


def test_steps_share_one_plan() -> None:
    model = network(nn)
    counts = []
    for i, batch in enumerate(batches(5, (3, 3, 5, 4))):
        model[1].momentum = 0.1 * (i + 1)
        model(vkml.tensor(batch)).sum().item()
        counts.append(runtime.cache_info()["plans"])
    assert counts == [counts[0]] * 5


def test_a_step_that_fails_is_taken_back() -> None:
    model = classifier()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    before = {k: v.numpy() for k, v in model.state_dict().items()}
    x = vkml.tensor(batches(1, (3, 3, 5, 4))[0])
    loss = nn.functional.cross_entropy(model(x), vkml.tensor([0, 2, 1]))
    loss.backward()
    optimizer.step()
    with pytest.raises(IndexError, match="2"):
        loss.item()
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), before[name], name)
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(x), vkml.tensor([0, 1, 1])).backward()
    optimizer.step()
    assert model[1].num_batches_tracked.item() == 1


@pytest.mark.parametrize("eager", [False, True])
def test_a_forward_that_is_refused_changes_nothing(eager: bool) -> None:
    layer = nn.BatchNorm2d(3)
    with vkml.eager_mode(eager):
        for shape in ((1, 3, 1, 1), (2, 4, 5, 5), (2, 3, 5)):
            with pytest.raises(ValueError):
                layer(vkml.ones(shape))
        with pytest.raises(TypeError):
            layer(vkml.ones(2, 3, 5, 5, dtype=vkml.int64))
    assert layer.running_mean.tolist() == [0.0] * 3 and layer.running_var.tolist() == [1.0] * 3
    assert layer.num_batches_tracked.item() == 0


def test_two_forwards_in_one_step_count_twice() -> None:
    ours, theirs = nn.BatchNorm2d(3), torch.nn.BatchNorm2d(3)
    a, b = batches(2)
    total = ours(vkml.tensor(a)).sum() + ours(vkml.tensor(b)).sum()
    total.backward()
    (theirs(torch.from_numpy(a)).sum() + theirs(torch.from_numpy(b)).sum()).backward()
    for name, value in ours.state_dict().items():
        close(value, theirs.state_dict()[name], 1e-6, name)
    assert ours.weight.grad is not None and theirs.weight.grad is not None
    np.testing.assert_allclose(ours.weight.grad.numpy(), theirs.weight.grad.numpy(), atol=2e-5)


def test_evaluation_and_no_grad() -> None:
    layer = nn.BatchNorm2d(3)
    x = vkml.tensor(batches(1)[0])
    with vkml.no_grad():
        layer(x)
    assert layer.num_batches_tracked.item() == 1
    kept = layer.state_dict()
    layer.eval()
    layer(x).realize()
    for name, value in layer.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), kept[name].numpy())
    assert layer(vkml.ones(1, 3, 1, 1)).shape == (1, 3, 1, 1)
    layer.reset_running_stats()
    assert layer.running_var.tolist() == [1.0] * 3 and layer.num_batches_tracked.item() == 0


def test_a_channel_of_equal_numbers_gives_the_bias() -> None:
    layer = nn.BatchNorm2d(2)
    with vkml.no_grad():
        layer.bias.assign_(0.5)
    x = vkml.full((2, 2, 3, 3), 7.0, requires_grad=True)
    y = layer(x)
    (y * y).sum().backward()
    assert np.all(y.numpy() == 0.5) and not np.any(x.grad.numpy())
    assert layer.running_var.tolist() == [np.float32(0.9)] * 2


def test_float16_stays_float16() -> None:
    layer = nn.BatchNorm2d(3).to(vkml.float16)
    assert layer(vkml.tensor(batches(1)[0].astype(np.float16))).dtype is vkml.float16
    assert layer.running_mean.dtype is vkml.float16
    assert layer.num_batches_tracked.dtype is vkml.int64
    assert np.isfinite(layer.running_var.numpy()).all()


def test_functional_batch_norm_needs_statistics_to_evaluate() -> None:
    x = vkml.ones(2, 3, 4)
    with pytest.raises(ValueError, match="running_mean and running_var"):
        nn.functional.batch_norm(x, None, None)
    with pytest.raises(ValueError, match="rank ≥ 2"):
        nn.functional.batch_norm(vkml.ones(3), None, None, training=True)
    mean = vkml.zeros(3)
    nn.functional.batch_norm(x, mean, None, training=True, momentum=0.5)
    assert mean.tolist() == [0.5] * 3


def test_bad_arguments() -> None:
    for make, message in (
        (lambda: nn.BatchNorm2d(0), "num_features: expected at least 1"),
        (lambda: nn.BatchNorm2d(3, eps=-1.0), "eps: expected a number ≥ 0"),
        (lambda: nn.BatchNorm2d(3, momentum=1.5), "momentum: expected a probability"),
        (lambda: nn.BatchNorm2d(3)(vkml.ones(1, 3, 1, 1)), "more than 1 value per channel"),
        (lambda: nn.BatchNorm2d(3)(vkml.ones(2, 3, 1)), r"BatchNorm2d: expected 4D input"),
        (lambda: nn.BatchNorm1d(3)(vkml.ones(2, 3, 1, 1)), r"expected 2 or 3D input"),
        (lambda: nn.BatchNorm2d(3).eval()(vkml.ones(2, 4, 1, 1)), r"expected \(4,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            make()
    for make, message in (
        (lambda: nn.BatchNorm2d(3, affine=1), "affine: expected True or False"),  # type: ignore
        (lambda: nn.BatchNorm2d(3)([1.0]), "input: expected a Tensor"),
        (lambda: nn.BatchNorm2d("3"), "num_features: expected an int"),  # type: ignore[arg-type]
    ):
        with pytest.raises(TypeError, match=message):
            make()

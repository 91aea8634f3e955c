"""Losses: every row of a table beside PyTorch's, in value, gradients, repr and state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pytest
import torch

import vkml
from tests.everywhere import same_everywhere
from tests.nn.layer_cases import close
from vkml import nn

Array = np.ndarray[Any, Any]
Make = Callable[[Any, Callable[[list[float]], Any]], Any]


@dataclass(frozen=True)
class Case:
    """A loss, made from a library and its way to make tensors; shapes; what targets are."""

    make: Make
    shape: tuple[int, ...]
    target: str

    def data(self) -> tuple[Array, Array]:
        rng = np.random.default_rng(len(self.shape))
        x = rng.standard_normal(self.shape).astype(np.float32)
        labels = self.shape[:1] + self.shape[2:] if len(self.shape) > 1 else ()
        targets = {
            "numbers": lambda: rng.standard_normal(self.shape).astype(np.float32),
            "shares": lambda: rng.choice([0.0, 0.25, 0.5, 1.0], self.shape).astype(np.float32),
            "labels": lambda: rng.integers(0, self.shape[min(1, len(self.shape) - 1)], labels),
        }
        return x, np.asarray(targets[self.target]())


CASES: Final[dict[str, Case]] = {
    "MSELoss": Case(lambda lib, _: lib.MSELoss(), (6, 4), "numbers"),
    "L1Loss": Case(lambda lib, _: lib.L1Loss(), (6, 4), "numbers"),
    "HuberLoss": Case(lambda lib, _: lib.HuberLoss(), (6, 4), "numbers"),
    "HuberLoss, delta": Case(lambda lib, _: lib.HuberLoss(delta=0.3), (6, 4), "numbers"),
    "KLDivLoss": Case(lambda lib, _: lib.KLDivLoss(), (6, 4), "shares"),
    "KLDivLoss, batch": Case(lambda lib, _: lib.KLDivLoss(reduction="batchmean"), (6, 4), "shares"),
    "KLDivLoss, one number": Case(
        lambda lib, _: lib.KLDivLoss(reduction="batchmean"), (), "shares"
    ),
    "KLDivLoss, logarithms": Case(lambda lib, _: lib.KLDivLoss(log_target=True), (6, 4), "numbers"),
    "BCE": Case(lambda lib, _: lib.BCEWithLogitsLoss(), (6, 4), "shares"),
    "BCE, all": Case(
        lambda lib, make: lib.BCEWithLogitsLoss(
            make([1.0, 0.5, 2.0, 1.5]), pos_weight=make([3.0, 1.0, 0.5, 2.0])
        ),
        (6, 4),
        "shares",
    ),
    "NLLLoss": Case(lambda lib, _: lib.NLLLoss(), (6, 4), "labels"),
    "NLLLoss, one sample": Case(lambda lib, _: lib.NLLLoss(), (4,), "labels"),
    "NLLLoss, all": Case(
        lambda lib, make: lib.NLLLoss(make([1.0, 0.5, 2.0, 1.5]), ignore_index=1),
        (3, 4, 5, 2),
        "labels",
    ),
    "CrossEntropyLoss": Case(lambda lib, _: lib.CrossEntropyLoss(), (6, 4), "labels"),
    "CrossEntropyLoss, all": Case(
        lambda lib, make: lib.CrossEntropyLoss(
            make([1.0, 0.5, 2.0, 1.5]), ignore_index=1, label_smoothing=0.1
        ),
        (3, 4, 5),
        "labels",
    ),
}
REDUCTIONS: Final = ("as made", "mean", "sum", "none")
pytestmark = pytest.mark.filterwarnings("ignore:reduction")  # PyTorch's about kl_div
every_row = pytest.mark.parametrize("name", CASES)
every_reduction = pytest.mark.parametrize("reduction", REDUCTIONS)


def reduced(loss: Any, reduction: str) -> Any:
    if reduction != "as made":
        loss.reduction = reduction
    return loss


@every_reduction
@every_row
def test_values_and_gradients_are_pytorchs(name: str, reduction: str) -> None:
    x, y = CASES[name].data()
    ours = reduced(CASES[name].make(nn, vkml.tensor), reduction)
    theirs = reduced(CASES[name].make(torch.nn, torch.tensor), reduction)
    inputs = vkml.tensor(x, requires_grad=True), torch.from_numpy(x).requires_grad_()
    floats = y.dtype.kind == "f"
    targets = vkml.tensor(y, requires_grad=floats), torch.from_numpy(y).requires_grad_(floats)
    a, b = ours(inputs[0], targets[0]), theirs(inputs[1], targets[1])
    close(a, b, 2e-6, "loss")
    (a * a).sum().backward()
    (b * b).sum().backward()
    close(inputs[0].grad, inputs[1].grad, 1e-5, "gradient of the input")
    if floats:  # where kl_div's target is 0, PyTorch's gradient is NaN; ours is finite
        got, wanted = targets[0].grad.numpy(), targets[1].grad.numpy()
        known = np.isfinite(wanted)
        assert np.isfinite(got).all() and np.all(known | (y == 0.0))
        room = 1e-5 * np.abs(wanted[known]).max(initial=0.1)
        np.testing.assert_allclose(got[known], wanted[known], 1e-5, room)


@every_row
def test_repr_and_state_are_pytorchs(name: str) -> None:
    ours = CASES[name].make(nn, vkml.tensor)
    theirs = CASES[name].make(torch.nn, torch.tensor)
    assert repr(ours) == repr(theirs) and ours.reduction == theirs.reduction
    assert list(ours.state_dict()) == list(theirs.state_dict())
    ours.load_state_dict({k: v.numpy() for k, v in theirs.state_dict().items()})
    assert not list(ours.parameters())


@every_reduction
@every_row
def test_the_bits_are_the_same_everywhere(name: str, reduction: str) -> None:
    x, y = CASES[name].data()

    def program(device: str) -> dict[str, Any]:
        loss = reduced(CASES[name].make(nn, vkml.tensor).to(device), reduction)
        logits = vkml.tensor(x, device=device, requires_grad=True)
        value = loss(logits, vkml.tensor(y, device=device))
        (value * value).sum().backward()
        return {"loss": value, "gradient": logits.grad}

    same_everywhere(program)


@pytest.mark.parametrize("x", [-200.0, -30.0, -1e-6, 0.0, 1e-6, 30.0, 200.0])
@pytest.mark.parametrize("y", [0.0, 0.5, 1.0])
def test_bce_is_exact_for_any_logit(x: float, y: float) -> None:
    logit = vkml.tensor(x, requires_grad=True)
    loss = nn.BCEWithLogitsLoss()(logit, vkml.tensor(y))
    loss.backward()
    exact = y * np.logaddexp(0.0, -np.float64(x)) + (1 - y) * np.logaddexp(0.0, np.float64(x))
    np.testing.assert_allclose(loss.item(), exact, 2e-7, 1e-45)
    slope = 1 / (1 + np.exp(-np.float64(x))) - y
    np.testing.assert_allclose(logit.grad.item(), slope, 2e-6, 1e-7)


def test_batchmean_is_the_divergence_of_distributions() -> None:
    p = np.array([[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]], np.float32)
    q = np.array([[0.25, 0.5, 0.25], [0.1, 0.2, 0.7]], np.float32)
    got = nn.KLDivLoss("batchmean")(vkml.tensor(np.log(q)), vkml.tensor(p)).item()
    np.testing.assert_allclose(got, 0.5 * np.log(2.0) / 2, 1e-5)


def test_bad_arguments() -> None:
    x, labels = vkml.ones(2, 3), vkml.tensor([0, 3])
    names = ("MSELoss", "L1Loss", "HuberLoss", "KLDivLoss", "BCEWithLogitsLoss", "NLLLoss")
    for name in (*names, "CrossEntropyLoss"):
        with pytest.raises(ValueError, match=f"{name}: reduction: got 'max', expected one of"):
            getattr(nn, name)(reduction="max")
    for call, error, message in (
        (lambda: nn.MSELoss("batchmean"), ValueError, "reduction"),
        (lambda: nn.HuberLoss(delta=0.0), ValueError, "delta: expected a number > 0"),
        (lambda: nn.HuberLoss(delta="1"), TypeError, "delta: expected a number"),
        (lambda: nn.KLDivLoss(log_target=1), TypeError, "log_target: expected True or False"),
        (lambda: nn.BCEWithLogitsLoss([1.0]), TypeError, "weight: expected a Tensor or None"),
        (lambda: nn.BCEWithLogitsLoss(pos_weight=2.0), TypeError, "pos_weight: expected a Tensor"),
        (lambda: nn.NLLLoss(ignore_index=0.5), TypeError, "ignore_index: expected an int"),
        (lambda: nn.CrossEntropyLoss(label_smoothing=2.0), ValueError, "label_smoothing"),
        (lambda: nn.L1Loss()(x, vkml.ones(3)), ValueError, "they must be equal"),
        (lambda: nn.KLDivLoss()(x, vkml.ones(2)), ValueError, "they must be equal"),
        (lambda: nn.NLLLoss()(x, x), TypeError, "labels are float32, expected int64"),
        (lambda: nn.NLLLoss(vkml.ones(2))(x, labels), ValueError, "weight has shape"),
        (lambda: nn.NLLLoss()(x, labels).item(), IndexError, "3"),
    ):
        with pytest.raises(error, match=message):
            call()

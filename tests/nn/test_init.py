"""nn.init: PyTorch's names, formulas and bounds; the same values on every device."""

from __future__ import annotations

import inspect
import math
from typing import Any

import numpy as np
import pytest
import torch

import vkml
from tests.everywhere import same_everywhere
from vkml import nn
from vkml.nn import init

SHAPES = [(60, 40), (24, 8, 5), (16, 6, 3, 5)]
GAINS = ["linear", "conv1d", "conv_transpose3d", "sigmoid", "tanh", "relu", "leaky_relu", "selu"]
RANDOM = {
    "uniform": lambda lib, t: lib.uniform_(t, -2.0, 3.0),
    "normal": lambda lib, t: lib.normal_(t, 1.0, 0.5),
    "trunc_normal": lambda lib, t: lib.trunc_normal_(t, 0.5, 2.0, -1.0, 3.0),
    "xavier_uniform": lambda lib, t: lib.xavier_uniform_(t, 2.0),
    "xavier_normal": lambda lib, t: lib.xavier_normal_(t, 0.5),
    "kaiming_uniform": lambda lib, t: lib.kaiming_uniform_(t),
    "kaiming_uniform, √5": lambda lib, t: lib.kaiming_uniform_(t, math.sqrt(5)),
    "kaiming_uniform, out": lambda lib, t: lib.kaiming_uniform_(t, 0.3, "fan_out", "relu"),
    "kaiming_normal": lambda lib, t: lib.kaiming_normal_(t, mode="fan_out"),
    "kaiming_normal, tanh": lambda lib, t: lib.kaiming_normal_(t, nonlinearity="tanh"),
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", RANDOM)
def test_distributions_are_pytorchs(name: str, shape: tuple[int, ...]) -> None:
    """Compare mean, spread and ends; theirs come from many draws, so that they are sharp."""
    vkml.manual_seed(1)
    torch.manual_seed(1)
    ours = np.stack([RANDOM[name](init, vkml.zeros(shape)).numpy() for _ in range(20)])
    theirs = np.stack([RANDOM[name](torch.nn.init, torch.zeros(shape)).numpy() for _ in range(20)])
    spread = theirs.std()
    assert abs(ours.mean() - theirs.mean()) < 0.03 * spread
    assert abs(ours.std() / spread - 1) < 0.02
    # Kolmogorov and Smirnov's distance of the two samples; one in a thousand would be larger.
    both = np.sort(np.concatenate([ours.ravel(), theirs.ravel()]))
    below = [np.searchsorted(np.sort(x.ravel()), both, "right") / x.size for x in (ours, theirs)]
    assert np.abs(below[0] - below[1]).max() < 1.95 * (2 / ours.size) ** 0.5
    if "normal" not in name or "trunc" in name:
        for end in (np.min, np.max):
            assert abs(end(ours) - end(theirs)) < 2e-3 * spread


def test_names_and_parameters_are_pytorchs() -> None:
    for name in init.__all__:
        theirs = inspect.signature(getattr(torch.nn.init, name)).parameters
        expected = [p for p in theirs.values() if p.name != "generator"]
        found = list(inspect.signature(getattr(init, name)).parameters.values())
        assert [p.name for p in found] == [p.name for p in expected], name
        for p, q in zip(found, expected, strict=True):
            assert p.default == q.default, (name, p.name)


@pytest.mark.parametrize("name", GAINS)
@pytest.mark.parametrize("param", [None, 0.2, 1, -3.5])
def test_gains_are_pytorchs(name: str, param: float | None) -> None:
    assert init.calculate_gain(name, param) == torch.nn.init.calculate_gain(name, param)


def test_exact_bounds() -> None:
    vkml.manual_seed(0)
    for fill, bound in (
        (lambda t: init.xavier_uniform_(t, 3.0), 3.0 * math.sqrt(6 / 1100)),
        (lambda t: init.kaiming_uniform_(t, math.sqrt(5)), math.sqrt(1 / 1000)),
        (lambda t: init.kaiming_uniform_(t, mode="fan_out"), math.sqrt(6 / 100)),
    ):
        array = fill(vkml.zeros(100, 1000)).numpy()
        assert 0.9999 * bound < np.abs(array).max() <= np.float32(bound)
        assert array.min() < -0.9999 * bound


def test_constants() -> None:
    t = vkml.full((3, 4), 7.0)
    assert not init.zeros_(t).numpy().any() and init.ones_(t) is t and t.numpy().all()
    assert np.all(init.constant_(t, 0.25).numpy() == 0.25)
    for shape in ((3, 4), (4, 3), (2, 2), (0, 3)):
        wanted = torch.nn.init.eye_(torch.ones(shape)).numpy()
        np.testing.assert_array_equal(init.eye_(vkml.ones(shape)).numpy(), wanted)


def test_parameters_stay_leaves_and_dtypes_stay() -> None:
    for fill in RANDOM.values():
        p = nn.Parameter(vkml.zeros(6, 5, dtype=vkml.float16))
        assert fill(init, p) is p
        assert p.requires_grad and p.is_leaf and p.dtype is vkml.float16 and p.numpy().any()
        assert fill(init, vkml.zeros(0, 5)).shape == (0, 5)


@pytest.mark.parametrize(
    ("mean", "std", "a", "b"),
    [(0, 1, -2, 2), (0, 1, 3, 9), (5, 0.1, 4.99, 5.0), (-1, 2, -1e9, 1e9), (0, 1, 0, math.inf)],
)
def test_truncated_normal_numbers(mean: float, std: float, a: float, b: float) -> None:
    """Compare with the distribution function of the truncated normal."""
    vkml.manual_seed(2)
    array = init.trunc_normal_(vkml.zeros(20000), mean, std, a, b).numpy()
    assert array.min() >= np.float32(a) and array.max() <= np.float32(b)

    def cdf(x: float) -> float:
        return math.erf((x - mean) / std / math.sqrt(2))

    for q in (0.1, 0.3, 0.5, 0.7, 0.9):
        x = float(np.quantile(array, q))
        assert abs((cdf(x) - cdf(a)) / (cdf(b) - cdf(a)) - q) < 0.015


def test_truncated_normal_keeps_to_the_bounds_of_the_dtype() -> None:
    t = init.trunc_normal_(vkml.zeros(5000, dtype=vkml.float16), 0.0, 1.0, -0.3, 0.3).numpy()
    assert t.min() >= np.float16(-0.3) and t.max() <= np.float16(0.3)


@pytest.mark.parametrize("name", RANDOM)
def test_bits_are_the_same_everywhere(name: str) -> None:
    def program(device: str) -> list[vkml.Tensor]:
        return [RANDOM[name](init, vkml.zeros(s, device=device)) for s in SHAPES] + [
            init.eye_(vkml.zeros(3, 5, device=device)),
            init.trunc_normal_(vkml.zeros(50, device=device), 0.0, 1.0, 2.0, 3.0),
        ]

    same_everywhere(program)


def test_bad_arguments_change_nothing() -> None:
    t, flat = vkml.full((3, 4), 7.0), vkml.ones(3)
    whole = vkml.ones(3, 4, dtype=vkml.int64)
    cases: list[tuple[type[Exception], str, Any]] = [
        (ValueError, "uniform_: expected a ≤ b", lambda: init.uniform_(t, 2.0, 1.0)),
        (ValueError, "uniform_: expected a ≤ b", lambda: init.uniform_(t, math.nan, 1.0)),
        (TypeError, "uniform_: b: expected a number", lambda: init.uniform_(t, 0.0, "1")),
        (ValueError, "normal_: expected std ≥ 0", lambda: init.normal_(t, 0.0, -1.0)),
        (ValueError, "std > 0 and a < b", lambda: init.trunc_normal_(t, 0.0, 0.0)),
        (ValueError, "std > 0 and a < b", lambda: init.trunc_normal_(t, a=1.0, b=1.0)),
        (ValueError, "rank ≥ 2", lambda: init.xavier_uniform_(flat)),
        (ValueError, "rank ≥ 2", lambda: init.kaiming_normal_(flat)),
        (ValueError, "eye_: expected rank 2", lambda: init.eye_(flat)),
        (ValueError, "mode: got 'in'", lambda: init.kaiming_uniform_(t, mode="in")),
        (ValueError, "nonlinearity: got 'x'", lambda: init.kaiming_uniform_(t, nonlinearity="x")),
        (TypeError, "param: expected a number", lambda: init.calculate_gain("leaky_relu", "1")),
        (TypeError, "floating-point", lambda: init.uniform_(whole)),
        (TypeError, "floating-point", lambda: init.xavier_normal_(whole)),
        (TypeError, "expected a Tensor", lambda: init.zeros_([1.0])),
    ]
    for error, message, run in cases:
        with pytest.raises(error, match=message):
            run()
    assert np.all(t.numpy() == 7.0)
    assert not init.kaiming_uniform_(vkml.ones(3, 0)).size


def test_bounds_out_of_reach_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vkml_nn.truncated.ROUNDS", 20)
    t = vkml.full((100,), 7.0)
    with pytest.raises(ValueError, match="too far from the mean"):
        init.trunc_normal_(t, 0.0, 1.0, 5.0, 1e6)
    assert np.all(t.numpy() == 7.0)

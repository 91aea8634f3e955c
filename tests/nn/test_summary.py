"""Module.summary: right numbers, nothing computed, and the module as it was, come what may."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vkml
from tests.everywhere import devices
from vkml import nn
from vkml_core import runtime
from vkml_core.plugins import open_device


def net() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.Dropout(0.5, seed=1),
        nn.Dropout(0.5),
        nn.Flatten(),
        nn.Linear(8 * 6 * 4, 10),
    )


def test_the_table_and_its_numbers() -> None:
    summary = net().summary((2, 3, 6, 4))
    lines = str(summary).splitlines()
    assert lines[0].split() == ["layer", "kind", "output", "parameters"]
    assert [line.split("  ")[0] for line in lines[2:10]] == ["(whole)", *"0123456"]
    assert lines[2].split()[1] == "Sequential" and "(2, 10)" in lines[2]
    assert lines[3].split() == ["0", "Conv2d", "(2,", "8,", "6,", "4)", "224"]
    assert lines[9].split()[-1] == "1,930"
    assert lines[-2] == "parameters: 2,170, of which 2,170 are trained"
    assert repr(summary) == str(summary) == summary and "Conv2d" in summary
    assert [row.parameters for row in summary.rows] == [0, 224, 16, 0, 0, 0, 0, 1930]
    assert summary.parameters == summary.trainable == 2170
    assert summary.parameter_bytes == 4 * 2170
    assert summary.buffer_bytes == 2 * 8 * 4 + 8  # two of float32 (8,), and a count
    assert summary.input_bytes == 4 * 2 * 3 * 6 * 4
    assert summary.output_bytes == 4 * (2 * 192 * 6 + 20)
    assert len({len(line) for line in lines[:-2]}) == 1


def test_frozen_shared_repeated_and_idle_layers() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(4, 4)
            self.tied = nn.Linear(4, 4, bias=False)
            self.tied.weight = self.first.weight
            self.idle = nn.Linear(2, 2)
            self.again = self.first

        def forward(self, x: vkml.Tensor) -> dict[str, Any]:
            y = self.first(self.first(self.first(x)))
            return {"a": y, "b": [self.tied(y), (y.sum(),)], "c": "text"}

    model = Model()
    model.idle.requires_grad_(False)
    summary = model.summary((3, 4))
    rows = {row.name: row for row in summary.rows}
    assert list(rows) == ["", "first", "tied", "idle"]
    assert rows[""].outputs == ["(3, 4), (3, 4), ()"]
    assert rows["first"].cells()[2] == "(3, 4) × 3" and rows["idle"].cells()[2] == "not called"
    assert [r.parameters for r in summary.rows] == [0, 20, 0, 6]
    assert (summary.parameters, summary.trainable) == (26, 20)
    assert summary.output_bytes == 4 * 4 * 12

    class Odd(nn.Module):
        def forward(self, x: vkml.Tensor) -> int:
            return 3

    assert Odd().summary((1,)).rows[0].outputs == ["int"]


def test_several_inputs_and_dtypes() -> None:
    attention = nn.MultiheadAttention(8, 2)
    assert "(2, 5, 8)" in attention.summary(((2, 5, 8), (2, 7, 8), (2, 7, 8)))
    embedding = nn.Sequential(nn.Embedding(10, 4), nn.Linear(4, 2))
    assert embedding.summary((3, 5), vkml.int64).rows[0].outputs == ["(3, 5, 2)"]
    assert embedding.summary([3, 5], "int64").input_bytes == 8 * 15

    class Both(nn.Module):
        def forward(self, x: vkml.Tensor, i: vkml.Tensor) -> vkml.Tensor:
            return x[i]

    summary = Both().summary(((4, 2), (3,)), (vkml.float16, vkml.int32))
    assert summary.rows[0].outputs == ["(3, 2)"] and summary.input_bytes == 16 + 12
    assert nn.ReLU().summary(()).rows[0].outputs == ["()"]
    assert nn.ReLU().summary(3).rows[0].outputs == ["(3,)"]


def test_nothing_is_computed_whatever_the_size() -> None:
    for device in devices():
        for eager in (False, True):
            model = net().to(device)
            before = open_device(device).stats()
            with vkml.eager_mode(eager):
                summary = model.summary((100_000, 3, 6, 4))
                assert vkml.is_eager() == eager
            after = open_device(device).stats()
            for key in ("submissions", "live_allocations", "total_allocations"):
                assert after[key] == before[key], key
            assert summary.rows[0].outputs == ["(100000, 10)"]


class Restless(nn.Module):
    """Changes all that a forward pass can change, and perhaps fails."""

    def __init__(self, fails: bool) -> None:
        super().__init__()
        self.fails = fails
        self.body = net()
        self.register_buffer("seen", vkml.zeros(1))
        self.weight = nn.Parameter(vkml.ones(3))
        self.calls, self.history, self.table = 0, [1], {"a": vkml.zeros(2)}

    def forward(self, x: vkml.Tensor) -> Any:
        self.calls += 1
        self.history.append(2)
        self.table["b"] = x
        self.table["a"].assign_(5.0)
        self.cache = vkml.rand(3)
        self.seen.assign_(9.0)
        self.weight.assign_(8.0)
        self.weight.grad = vkml.ones(3)
        self.fails_too = nn.Linear(2, 2)
        self.body.train()
        self.body.append(nn.ReLU())
        self.body.register_forward_hook(lambda m, args, y: None)
        y = self.body(x)
        if self.fails:
            raise KeyboardInterrupt
        return y


def shape_of(model: nn.Module) -> dict[str, Any]:
    """Give all there is to a module, without computing anything."""
    return {
        name: {
            **{k: copy.copy(v) if isinstance(v, dict | list) else v for k, v in vars(m).items()},
            "pre-hooks": dict(m._pre_hooks._hooks),
            "hooks": dict(m._hooks._hooks),
        }
        for name, m in model.named_modules()
    }


@pytest.mark.parametrize("fails", [False, True])
def test_the_module_is_as_it_was(fails: bool) -> None:
    model = Restless(fails)
    calls: list[int] = []
    model.body.register_forward_hook(lambda m, args, y: calls.append(1))
    model.body.register_forward_pre_hook(lambda m, args: None)
    model.body[3].eval()
    vkml.manual_seed(4)
    vkml.rand(1)
    values = {k: v.numpy() for k, v in model.state_dict().items()}
    before, nodes = shape_of(model), [t.node for t in (model.seen, model.weight)]
    if fails:
        with pytest.raises(KeyboardInterrupt):
            model.summary((2, 3, 6, 4))
    else:
        assert "Restless" in model.summary((2, 3, 6, 4))
    assert shape_of(model) == before and calls == [1]
    assert [t.node for t in (model.seen, model.weight)] == nodes and model.weight.grad is None
    assert vkml.get_rng_state() == {"seed": 4, "calls": 1}
    assert model.table["a"].tolist() == [0.0, 0.0] and model.history == [1]
    assert model.random_state() == {"body.3": 0}
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), values[name])
    assert model.weight.requires_grad and not runtime.is_eager()
    (model.weight * 2.0).sum().backward()
    assert model.weight.grad.tolist() == [2.0] * 3


def test_a_pending_assignment_survives() -> None:
    model = net()
    model(vkml.rand(2, 3, 6, 4, seed=1))  # running statistics wait to be computed
    twin_mean = copy.deepcopy(model[1].running_mean).numpy()
    other = net()
    other.load_state_dict(model.state_dict())
    model(vkml.rand(2, 3, 6, 4, seed=2))
    before = open_device("cpu").stats()["submissions"]
    model.summary((2, 3, 6, 4))
    assert open_device("cpu").stats()["submissions"] == before
    other(vkml.rand(2, 3, 6, 4, seed=2))
    found, wanted = (m[1].running_mean.numpy() for m in (model, other))
    np.testing.assert_array_equal(found, wanted)
    assert np.any(found != twin_mean)


def test_training_goes_on_with_the_same_bits() -> None:
    def run(look: bool) -> bytes:
        vkml.manual_seed(3)
        model = net()
        for seed in range(3):
            if look:
                model.summary((5, 3, 6, 4))
            y = model(vkml.rand(4, 3, 6, 4, seed=seed))
        array: np.ndarray = y.numpy()
        return array.tobytes()

    assert run(True) == run(False)


@pytest.mark.parametrize(
    ("error", "message", "look"),
    [
        (ValueError, "inner sizes differ", lambda m: m.summary((2, 3, 5, 4))),
        (ValueError, "rank 5", lambda m: m.summary((1, 2, 3, 4, 5))),
        (ValueError, "negative size", lambda m: m.summary((2, -1, 6, 4))),
        (TypeError, "expected an int", lambda m: m.summary((2, 3, 6.5, 4))),
        (TypeError, "expected an int", lambda m: m.summary("text")),
        (TypeError, "dtype", lambda m: m.summary((2, 3, 6, 4), "float63")),
        (ValueError, "1 shapes and 2 dtypes", lambda m: m.summary((2, 3), ("float32",) * 2)),
        (TypeError, "positional arguments", lambda m: m.summary(((2, 3), (2, 3)))),
    ],
)
def test_bad_arguments_tell_and_change_nothing(
    error: type[Exception], message: str, look: Callable[[nn.Module], object]
) -> None:
    model = net()
    before = shape_of(model)
    with pytest.raises(error, match=message):
        look(model)
    assert shape_of(model) == before and all(m.training for m in model.modules())

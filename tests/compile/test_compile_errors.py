"""What cannot be compiled is an error that says what to do, and then nothing has changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import vkml
from tests.compile.programs import Run, batches
from tests.everywhere import devices
from vkml import nn, optim
from vkml_core.errors import CompileError

X = vkml.tensor([1.0, 2.0])
READS: dict[str, Callable[[vkml.Tensor], Any]] = {
    "item": lambda x: x.sum().item(),
    "float": lambda x: float(x.sum()),
    "int": lambda x: int(x.sum()),
    "bool": lambda x: x if x.sum() > 0 else -x,
    "index": lambda x: [1, 2][(x.sum() * 0).to(vkml.int64)],
    "numpy": lambda x: x.numpy(),
    "array": lambda x: np.asarray(x * 2),
    "print": lambda x: f"{x}",
    "tolist": lambda x: (x * 2).tolist(),
    "tensor of a tensor": lambda x: vkml.tensor(x),
    "mask": lambda x: x[x > 1],
    "in": lambda x: 2.0 in x,
    "random": lambda x: vkml.rand(1).item(),
}


@pytest.mark.parametrize("name", READS)
@pytest.mark.parametrize("eager", [False, True])
def test_reading_a_value(name: str, eager: bool) -> None:
    fn = vkml.compile(READS[name])
    with vkml.eager_mode(eager):
        for _ in range(2):
            with pytest.raises(CompileError, match=r"(?s)reads the value.*return the tensor"):
                fn(X)
    assert X.tolist() == [1.0, 2.0] and fn.cache_info().currsize == 0


def test_a_refusal_that_the_step_swallows_is_told_all_the_same() -> None:
    def step(x: vkml.Tensor) -> vkml.Tensor:
        try:
            return x * x.sum().item()
        except RuntimeError:
            return x

    def worse(x: vkml.Tensor) -> vkml.Tensor:
        try:
            return x * x.sum().item()
        except RuntimeError:
            raise KeyError("else") from None

    for fn in (step, worse):
        with pytest.raises(CompileError, match="reads the value"):
            vkml.compile(fn)(X)


def test_reading_what_is_captured() -> None:
    scale = vkml.tensor(2.0)
    with pytest.raises(CompileError, match="reads the value"):
        vkml.compile(lambda x: x * scale.item())(X)


def test_reading_a_constant_of_the_step_is_allowed() -> None:
    fn = vkml.compile(lambda x: x * vkml.tensor([3.0]).item() + vkml.arange(3).sum().item())
    assert fn(X).tolist() == [6.0, 9.0] and fn(X + 1).tolist() == [9.0, 12.0]


ARGUMENTS: dict[str, tuple[Any, str]] = {
    "array": (np.ones(2), r"argument 0 is a ndarray.*vkml.tensor\(array\)"),
    "module": (nn.ReLU(), "argument 0 is a ReLU.*from outside"),
    "set": ({1}, "argument 0 is a set"),
    "nested": ([1, {"a": (object(),)}], r"argument 0\[1\]\['a'\]\[0\] is a object"),
    "function": (len, "argument 0 is a builtin"),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_that_are_not_tensors_or_plain_values(name: str) -> None:
    value, words = ARGUMENTS[name]
    fn = vkml.compile(lambda x: X * 2)
    with pytest.raises(vkml.ArgumentTypeError, match=words):
        fn(value)


RESULTS: dict[str, tuple[Any, str]] = {
    "number": (1.5, "the result is a float"),
    "nested": ((X, {"n": [3]}), r"the result\[1\]\['n'\]\[0\] is a int"),
    "array": (np.ones(2), "the result is a ndarray"),
    "set": ({1}, "the result is a set"),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_that_are_not_tensors(name: str) -> None:
    value, words = RESULTS[name]
    with pytest.raises(CompileError, match=words):
        vkml.compile(lambda x: value)(X)


def test_a_step_that_does_nothing() -> None:
    with pytest.raises(CompileError, match="nothing to compile"):
        vkml.compile(lambda x: None)(X)


def test_tensors_on_several_devices() -> None:
    other = vkml.ones(2, device=devices()[1])
    with pytest.raises(vkml.DeviceError, match=r"cpu and vulkan|vulkan and cpu"):
        vkml.compile(lambda x: (x * 2, other * 2))(X)
    with pytest.raises(vkml.DeviceError, match="vulkan"):
        vkml.compile(lambda x: x + other)(X)


REFUSED: dict[str, Callable[[Run], Any]] = {
    "manual_seed": lambda run: vkml.manual_seed(3),
    "get_rng_state": lambda run: vkml.get_rng_state(),
    "set_rng_state": lambda run: vkml.set_rng_state({"seed": 1, "calls": 0}),
    r"requires_grad_\(\)": lambda run: run.model[0].requires_grad_(False),
    r"reads the value.*leave that part out": lambda run: run.model.to(vkml.float16),
    r"CosineAnnealing.step\(\)": lambda run: run.schedule.step(),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("late", [False, True])
def test_what_belongs_outside_of_the_step(name: str, late: bool) -> None:
    run = Run("perceptron", "AdamW", "lazy", "cpu")
    run.train(batches("perceptron", 2))
    before = run.state()

    def step(x: vkml.Tensor, y: vkml.Tensor) -> Any:
        if not late:
            REFUSED[name](run)
        found = run._step(x, y)
        REFUSED[name](run)
        return found

    x, y = next(batches("perceptron", 1))
    with pytest.raises(CompileError, match=name):
        vkml.compile(step)(vkml.tensor(x), vkml.tensor(y))
    assert run.state() == before


@pytest.mark.parametrize("steps", [0, 2])
@pytest.mark.parametrize("model", ["perceptron", "convolutions", "transformer"])
def test_a_step_that_raises_changes_nothing(steps: int, model: str) -> None:
    run = Run(model, "AdamW", "lazy", "cpu")
    run.train(batches(model, steps))
    before, had = run.state(), [p.grad for p in run.model.parameters()]
    known = dict(run.optimizer.state)

    def step(x: vkml.Tensor, y: vkml.Tensor) -> Any:
        run._step(x, y)
        run._step(x, y)
        raise KeyError("in the middle")

    x, y = next(batches(model, 1))
    for _ in range(2):
        with pytest.raises(KeyError, match="in the middle"):
            vkml.compile(step)(vkml.tensor(x), vkml.tensor(y))
    assert run.state() == before
    assert all(a is b for a, b in zip(had, (p.grad for p in run.model.parameters()), strict=True))
    assert run.optimizer.state.keys() == known.keys()
    twin = Run(model, "AdamW", "lazy", "cpu")
    twin.train(batches(model, steps))
    vkml.set_rng_state(before["random"][0])
    assert run.train(list(batches(model, 5))[steps:]) != []


@pytest.mark.parametrize("good", [0, 1, 3])
def test_a_label_out_of_range_is_taken_back(good: int) -> None:
    for device in devices():
        run = Run("transformer", "AdamW", "compiled", device)
        wanted = Run("transformer", "AdamW", "lazy", device)
        vkml.manual_seed(4)
        data = list(batches("transformer", 7))
        losses = wanted.train(data)
        vkml.manual_seed(4)
        found = run.train(data[:good])
        before = run.state()
        x, _ = data[good]
        for _ in range(2):
            bad = vkml.tensor(np.full(len(x), 3), device=device)
            with pytest.raises(IndexError, match="3"):
                run.step(vkml.tensor(x, device=device), bad)
            if good:
                assert run.state() == before
        found += run.train(data[good:])
        assert found == losses
        assert run.state() == wanted.state()


def test_arguments_with_a_history_or_a_gradient() -> None:
    w = vkml.tensor([1.0, 2.0], requires_grad=True)
    fn = vkml.compile(lambda x: x * 2)
    with pytest.raises(vkml.ArgumentError, match=r"has a history.*detach"):
        fn(w * 2)
    with vkml.no_grad():
        assert fn(w * 2).tolist() == [4.0, 8.0]
    (w * w).sum().backward()
    with pytest.raises(vkml.ArgumentError, match="already has a gradient"):
        fn(w)


def test_an_argument_that_is_changed_from_outside() -> None:
    w = vkml.tensor([1.0, 2.0])

    @vkml.compile
    def step(x: vkml.Tensor) -> vkml.Tensor:
        w.assign_(w + x)
        return w * x

    with pytest.raises(CompileError, match="give it to the step once"):
        step(w)
    assert w.tolist() == [1.0, 2.0]
    assert step(X).tolist() == [2.0, 8.0]
    with pytest.raises(CompileError, match="that the step changes"):
        step(w)
    assert w.tolist() == [2.0, 4.0]
    assert step(w.detach()).tolist() == [8.0, 32.0]


def test_what_is_given_to_compile() -> None:
    with pytest.raises(vkml.ArgumentTypeError, match="expected a function"):
        vkml.compile(3)  # type: ignore[arg-type]
    with pytest.raises(vkml.ArgumentError, match="maxsize"):
        vkml.compile(len, maxsize=0)


def test_it_is_a_vkml_error_and_a_runtime_error() -> None:
    assert issubclass(vkml.CompileError, vkml.Error) and issubclass(CompileError, RuntimeError)


def test_an_optimiser_in_no_state_after_a_failed_first_trace() -> None:
    p = nn.Parameter(vkml.ones(2))
    optimizer = optim.Adam([p])

    def step() -> None:
        p.grad = vkml.ones(2)
        optimizer.step()
        raise ValueError

    with pytest.raises(ValueError):
        vkml.compile(step)()
    assert not optimizer.state and p.grad is None and p.tolist() == [1.0, 1.0]

"""What was decided when a step was traced holds at every replay, or the step is traced anew."""

from __future__ import annotations

import gc
import math
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import vkml
from tests.compile.programs import Run, batches
from vkml import nn, optim
from vkml_backend_cpu.backend import backend as cpu
from vkml_core import plugins
from vkml_core.backend import Available, DeviceInfo

X = np.random.default_rng(0).standard_normal((8, 6)).astype(np.float32)
Y = np.random.default_rng(1).integers(0, 3, 8)
Change = Callable[["Pair"], None]


class Pair:
    """The same training twice: compiled, and not; `do` changes both alike."""

    def __init__(self, optimiser: str = "AdamW", model: str = "perceptron") -> None:
        self.runs = [Run(model, optimiser, mode, "cpu") for mode in ("compiled", "lazy")]
        self.random = [vkml.get_rng_state()] * 2
        self.data = list(batches(model, 3))[:1]

    def both(self, what: Callable[[Run], Any]) -> list[Any]:
        found = []
        for i, run in enumerate(self.runs):
            vkml.set_rng_state(self.random[i])
            found.append(what(run))
            self.random[i] = vkml.get_rng_state()
        return found

    def check(self, steps: int = 2) -> None:
        compiled, lazy = self.both(lambda run: run.train(self.data * steps))
        assert compiled == lazy
        compiled, lazy = self.both(lambda run: run.state())
        assert compiled == lazy

    @property
    def traces(self) -> int:
        misses: int = self.runs[0].step.cache_info().misses  # type: ignore[attr-defined]
        return misses


def _set(name: str, value: Any) -> Change:
    def change(run: Any) -> None:
        run.optimizer.param_groups[0][name] = value

    return change


def _grow(run: Any) -> None:
    extra = nn.Linear(3, 3)
    run.model.register_module("extra", extra)
    run.model.forward = lambda x, m=run.model: extra(nn.Sequential.forward(m, x))


def _replace(run: Any) -> None:
    old = run.model[0].weight
    run.model[0].weight = nn.Parameter(old.detach() * 2.0)


def _assign(run: Any) -> None:
    with vkml.no_grad():
        run.model[0].weight.assign_(run.model[0].weight * 0.5)


def _load(run: Any) -> None:
    state = {k: v.numpy() * np.float32(0.5) for k, v in run.model.state_dict().items()}
    run.model.load_state_dict(state)


def _load_optimizer(run: Any) -> None:
    state = run.optimizer.state_dict()
    for kept in state["state"].values():
        kept.pop("exp_avg")
        kept["exp_avg"] = np.zeros(kept["exp_avg_sq"].shape, np.float32)
    state["param_groups"][0]["lr"] = 0.007
    run.optimizer.load_state_dict(state)


def _hook(run: Any) -> None:
    run.model[1].register_forward_hook(lambda m, args, out: out * 0.5)


def _fresh_gradients(run: Any) -> None:
    for p in run.model.parameters():
        p.grad = vkml.ones(*p.shape)


CHANGES: dict[str, tuple[Any, bool]] = {
    "nothing": (lambda run: None, False),
    "learning rate": (_set("lr", 0.03), False),
    "eps": (_set("eps", 1e-3), False),
    "weight decay": (_set("weight_decay", 0.5), False),
    "weight decay off": (_set("weight_decay", 0.0), True),
    "betas": (_set("betas", (0.5, 0.7)), True),
    "maximize": (_set("maximize", True), True),
    "evaluation": (lambda run: run.model.eval(), True),
    "the same mode": (lambda run: run.model.train(), False),
    "probability": (lambda run: setattr(run.model[2], "p", 0.6), True),
    "seed": (lambda run: setattr(run.model[3], "seed", 77), True),
    "counter": (lambda run: setattr(run.model[3], "calls", 70), False),
    "generator": (lambda run: vkml.manual_seed(99), False),
    "frozen": (lambda run: run.model[0].requires_grad_(False), True),
    "frozen bias": (lambda run: run.model[0].bias.requires_grad_(False), True),
    "assigned": (_assign, False),
    "loaded": (_load, False),
    "optimiser loaded": (_load_optimizer, True),
    "hook": (_hook, True),
    "other layer": (lambda run: setattr(run.model, "1", nn.Tanh()), True),
    "float16": (lambda run: run.model.to(vkml.float16), True),
    "gradients from elsewhere": (_fresh_gradients, False),
    "gradients cleared": (lambda run: run.model.zero_grad(), False),
    "state read": (lambda run: run.state(), False),
    "state dict kept": (lambda run: setattr(run, "kept", run.model.state_dict()), False),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_between_calls(name: str) -> None:
    change, anew = CHANGES[name]
    if name == "float16":
        pair = Pair("SGD")
        pair.data = [(x.astype(np.float16), y) for x, y in pair.data]
        pair.both(lambda run: run.model.to(vkml.float16))
        pair.check()
        change = lambda run: run.model.to(vkml.float32)  # noqa: E731
        pair.both(change)
        pair.data = [(x.astype(np.float32), y) for x, y in pair.data]
        pair.check()
        return
    pair = Pair()
    pair.check()
    traces = pair.traces
    pair.both(change)
    pair.check()
    assert (pair.traces > traces) is anew
    pair.check()
    assert pair.traces - traces == anew  # and then that holds


@pytest.mark.parametrize("optimiser", ["SGD", "momentum", "RMSProp", "Adam"])
def test_options_of_other_optimisers(optimiser: str) -> None:
    pair = Pair(optimiser)
    pair.check()
    for i, change in enumerate((_set("lr", 0.2), _set("eps", 1e-4), _set("weight_decay", 0.3))):
        if i == 1 and optimiser in ("SGD", "momentum"):
            change = _set("momentum", 0.4)
        pair.both(change)
        pair.check()


def test_a_new_group_of_parameters() -> None:
    pair = Pair("AdamW")
    pair.check()

    def grow(run: Any) -> None:
        vkml.manual_seed(8)
        _grow(run)
        run.optimizer.add_param_group({"params": list(run.model.extra.parameters()), "lr": 0.5})

    pair.both(grow)
    pair.check()


def test_a_replaced_parameter() -> None:
    pair = Pair("AdamW")
    pair.check()
    pair.both(_replace)
    pair.check()  # the optimiser goes on with the old one, and lazily too


def test_training_and_evaluation_take_turns_without_new_traces() -> None:
    pair = Pair()
    for _ in range(3):
        pair.both(lambda run: run.model.train())
        pair.check(1)
        pair.both(lambda run: run.model.eval())
        pair.check(1)
    assert pair.traces == 2


class Odd(optim.SGD):
    """Its rule puts the learning rate through a function that live numbers do not follow."""

    class rule_(type(optim.SGD.rule)):  # type: ignore[misc]
        def update(self, grad: Any, state: Any, param: Any, options: Any, shared: Any = ()) -> Any:
            return param - grad * math.sqrt(options["lr"]), {}

    rule = rule_()


class Stepwise(optim.SGD):
    """Its rule decides by the learning rate."""

    class rule_(type(optim.SGD.rule)):  # type: ignore[misc]
        def update(self, grad: Any, state: Any, param: Any, options: Any, shared: Any = ()) -> Any:
            rate = options["lr"]
            return param - (grad * rate if rate < 0.1 else grad.sign() * rate), {}

    rule = rule_()


@pytest.mark.parametrize("kind", [Odd, Stepwise])
def test_rules_of_users(kind: type[optim.SGD]) -> None:
    def run(compiled: bool) -> Any:
        p = nn.Parameter(vkml.tensor([1.0, -2.0]))
        optimizer = kind([p], lr=0.09)

        def step(x: vkml.Tensor) -> vkml.Tensor:
            optimizer.zero_grad()
            loss = (p * x).sum()
            loss.backward()
            optimizer.step()
            return loss

        fn = vkml.compile(step) if compiled else step
        found = []
        for rate in (0.09, 0.05, 0.2, 0.3, 0.04, 0.5):
            optimizer.param_groups[0]["lr"] = rate
            found += [fn(vkml.tensor([1.0, 3.0])).item(), p.tolist()]
        return found

    assert run(True) == run(False)


def test_modes_of_the_thread() -> None:
    w = vkml.tensor([2.0], requires_grad=True)

    @vkml.compile
    def step(x: vkml.Tensor) -> vkml.Tensor:
        y = w * x
        return y + 1.0 if y.requires_grad else y - 1.0

    x = vkml.tensor([3.0])
    for _ in range(2):
        assert step(x).item() == 7.0
        with vkml.no_grad():
            assert step(x).item() == 5.0
    assert step.cache_info().misses == 2


def test_a_model_that_moves_between_devices() -> None:
    device = pytest.importorskip("tests.everywhere").devices()[1]
    model = nn.Linear(6, 3)
    wanted = model(vkml.tensor(X)).numpy().tobytes()
    infer = vkml.compile(lambda x: model(x))
    for name in ("cpu", device, "cpu", device):
        model.to(name)
        assert infer(vkml.tensor(X, device=name)).numpy().tobytes() == wanted
    assert infer.cache_info().misses == 2


class Again:
    """The oracle under a name of its own, which can be opened anew."""

    NAME, API_VERSION = "again", (1, 0)

    def probe(self) -> Available:
        return Available()

    def devices(self) -> list[DeviceInfo]:
        return [DeviceInfo(0, "again", "other")]

    def open(self, index: int) -> Any:
        return cpu.open(index)


@pytest.fixture
def again() -> Iterator[str]:
    plugins.register_backend(Again())
    yield "again"
    plugins.unregister_backend("again")


def test_a_device_that_is_opened_anew(again: str) -> None:
    run = Run("perceptron", "AdamW", "compiled", again)
    data = list(batches("perceptron", 3))
    run.train(data)
    kept = {k: v.numpy() for k, v in run.model.state_dict().items()}
    vkml.device(again).reopen()
    with pytest.raises(vkml.DeviceError, match="opened anew"):
        run.train(data)
    fresh = Run("perceptron", "SGD", "lazy", again)
    fresh.model.load_state_dict(kept)
    run.model, run.optimizer = fresh.model, optim.SGD(fresh.model.parameters(), lr=0.1)
    vkml.manual_seed(1)
    found = run.train(data)
    vkml.manual_seed(1)
    fresh = Run("perceptron", "SGD", "lazy", again)
    fresh.model.load_state_dict(kept)
    vkml.manual_seed(1)
    fresh.schedule.step = lambda: None  # type: ignore[method-assign]
    wanted = fresh.train(data)
    assert found == wanted


def test_two_threads() -> None:
    def work(found: dict[int, Any], i: int) -> None:
        w = vkml.tensor([float(i)], requires_grad=True)
        optimizer = optim.SGD([w], lr=0.25)

        @vkml.compile
        def own(x: vkml.Tensor) -> vkml.Tensor:
            optimizer.zero_grad()
            loss = ((w - x) ** 2).sum()
            loss.backward()
            optimizer.step()
            return loss

        losses = [own(vkml.tensor([float(k % 3)])).item() for k in range(30)]
        shared = [double(vkml.full((1 + k % 3,), k)).tolist() for k in range(30)]
        found[i] = losses, shared

    double = vkml.compile(lambda x: x * 2)
    found: dict[int, Any] = {}
    threads = [threading.Thread(target=work, args=(found, i)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    again: dict[int, Any] = {}
    for i in range(4):
        work(again, i)
    assert found == again
    assert found[0][1] == [[2 * k] * (1 + k % 3) for k in range(30)]


def test_a_compiled_method_of_each_object() -> None:
    class Trainer(nn.Module):
        def __init__(self, start: float) -> None:
            super().__init__()
            self.w = nn.Parameter(vkml.tensor([start]))

        @vkml.compile
        def step(self, x: vkml.Tensor) -> vkml.Tensor:
            return self.w * x

    a, b = Trainer(1.0), Trainer(2.0)
    x = vkml.tensor([3.0])
    assert (a.step(x).item(), b.step(x).item(), a.step(x).item()) == (3.0, 6.0, 3.0)
    assert a.step.cache_info()[:2] == (1, 1)
    gc.collect()
    before = sum(type(o) is Trainer for o in gc.get_objects())
    del a
    gc.collect()
    assert sum(type(o) is Trainer for o in gc.get_objects()) == before - 1

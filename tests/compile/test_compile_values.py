"""Tensors are values, compiled or not: nobody sees a buffer that is overwritten in place."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import vkml
from tests.autograd.test_random_graphs import SHAPES, Step, build, steps
from tests.compile.programs import Run, batches, submissions
from tests.everywhere import devices
from vkml import nn, optim

Pair = namedtuple("Pair", ["first", "second"])


def counter(device: str = "cpu") -> tuple[vkml.Tensor, Any]:
    w = vkml.tensor([1.0, 2.0], device=device)

    @vkml.compile
    def step(x: vkml.Tensor) -> vkml.Tensor:
        w.assign_(w + x)
        return w.sum()

    return w, step


HOLDERS: dict[str, Any] = {
    "detach": lambda w: w.detach(),
    "computed detach": lambda w: w.detach().realize(),
    "view": lambda w: w.reshape(2, 1)[::-1],
    "lazy value": lambda w: w * 2.0,
    "copy": lambda w: __import__("copy").deepcopy(w),
    "parameter": lambda w: nn.Parameter(w),
    "same node": lambda w: vkml.Tensor(w.node),
    "list": lambda w: [w.detach() for _ in range(3)][-1],
}


@pytest.mark.parametrize("name", HOLDERS)
@pytest.mark.parametrize("when", [0, 1, 2])
def test_who_holds_a_value_keeps_it(name: str, when: int) -> None:
    for device in devices():
        w, step = counter(device)
        x = vkml.tensor([1.0, 1.0], device=device)
        for _ in range(when):
            step(x)
        held, value = HOLDERS[name](w), w.numpy()
        wanted = HOLDERS[name](vkml.tensor(value)).numpy()
        for i in range(3):
            assert step(x).item() == value.sum() + 2 * (i + 1)
        assert held.numpy().tolist() == wanted.tolist()
        start = submissions(device)
        step(x)
        assert submissions(device) - start == 1  # a copy was made once
        assert w.numpy().tolist() == (value + 4).tolist()


def test_results_keep_their_values() -> None:
    w = vkml.tensor([1.0])

    @vkml.compile
    def step(x: vkml.Tensor) -> Any:
        old = w.detach()
        w.assign_(w + x)
        return {"new": w, "old": old, "twice": [w * 2, w], "x": x, "pair": Pair(x, None)}

    x = vkml.tensor([1.0])
    found = [step(x) for _ in range(4)]
    x.assign_(7.0)
    for i, out in enumerate(found):
        told = [out["new"].item(), out["old"].item(), out["twice"][0].item(), out["x"].item()]
        assert told == [i + 2, i + 1, 2 * i + 4, 1]
        assert out["twice"][1].item() == i + 2 and out["pair"].first.item() == 1
        assert isinstance(out["pair"], Pair) and out["pair"].second is None
    assert w.item() == 5.0


def test_arguments_may_be_assigned_to() -> None:
    @vkml.compile
    def step(x: vkml.Tensor, y: vkml.Tensor) -> None:
        x += y
        y.assign_(y * 2)

    for _ in range(3):
        x, y = vkml.tensor([1.0]), vkml.tensor([3.0])
        before = x.detach()
        step(x, y)
        assert (x.item(), y.item(), before.item()) == (4.0, 6.0, 1.0)
    with pytest.raises(vkml.CompileError):
        step(x, x)


def test_several_assignments_to_one_tensor_and_swaps() -> None:
    a, b = vkml.tensor([1.0]), vkml.tensor([2.0])

    @vkml.compile
    def step() -> vkml.Tensor:
        vkml.assign([a, b], [b, a])
        middle = a * 10
        a.assign_(a + 1)
        a.assign_(a * b)
        return middle

    x, y = 1.0, 2.0
    for _ in range(4):
        x, y = y, x
        middle = x * 10
        x = (x + 1) * y
        assert (step().item(), a.item(), b.item()) == (middle, x, y)


def test_lazy_arguments_and_pending_assignments() -> None:
    w, step = counter()
    for i in range(3):
        w.assign_(w * 2)
        wanted = (w.numpy() + i).sum() if i == 1 else None
        got = step(vkml.full((2,), 1.0) * i).item()
        assert wanted is None or got == wanted
    assert w.tolist() == [((1 * 2 + 0) * 2 + 1) * 2 + 2, ((2 * 2 + 0) * 2 + 1) * 2 + 2]


def test_plain_arguments_are_part_of_the_signature() -> None:
    calls = []

    @vkml.compile
    def step(x: vkml.Tensor, n: Any, *, name: str = "a", more: Any = ()) -> vkml.Tensor:
        calls.append(n)
        return x * n

    x = vkml.tensor([2.0])
    for n in (1, 1.0, True, 2, -0.0, 0.0, np.float32(3), float("nan"), float("nan")):
        got = step(x, n).numpy()
        assert got.tobytes() == (x * n).numpy().tobytes()
    assert len(calls) == 8
    step(x, 1, name="b")
    step(x, 1, more=[{"k": None}])
    step(x, 1, more=[{"k": 0}])
    assert len(calls) == 11


def _gradients(compiled: bool, clear: str, update: bool) -> list[Any]:
    w = nn.Parameter(vkml.tensor([1.0, -2.0]))
    optimizer = optim.SGD([w], lr=0.1)

    def step(x: vkml.Tensor) -> vkml.Tensor:
        if clear == "before":
            optimizer.zero_grad()
        loss = (w * w * x).sum()
        loss.backward()
        if update:
            optimizer.step()
        if clear == "after":
            optimizer.zero_grad()
        return loss

    fn = vkml.compile(step) if compiled else step
    found: list[Any] = []
    for i in range(5):
        loss = fn(vkml.tensor([1.0 + i, 2.0]))
        grad = w.grad
        spent = clear == "before" and update
        found.append((loss.item(), w.tolist()))
        if spent:
            assert grad is None or not compiled
        else:
            found.append(None if grad is None else grad.tolist())
        if i == 3:
            optimizer.zero_grad()
    return found


@pytest.mark.parametrize("clear", ["before", "after", "never"])
@pytest.mark.parametrize("update", [True, False])
def test_gradients_after_a_step(clear: str, update: bool) -> None:
    """As after the lazy step, but None where the step has cleared, made and used them."""
    assert _gradients(True, clear, update) == _gradients(False, clear, update)


def test_accumulating_and_applying_apart() -> None:
    def run(compiled: bool) -> list[float]:
        vkml.manual_seed(2)
        model = nn.Linear(3, 2)
        optimizer = optim.AdamW(model.parameters(), lr=0.1)

        def add(x: vkml.Tensor) -> vkml.Tensor:
            loss = (model(x) ** 2).mean()
            loss.backward()
            return loss

        def apply() -> None:
            optim.clip_grad_value_(model.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad()

        adding, applying = (vkml.compile(add), vkml.compile(apply)) if compiled else (add, apply)
        found = []
        for i in range(12):
            found.append(adding(vkml.full((4, 3), i / 10)).item())
            if i % 3 == 2:
                applying()
        return [*found, *model.weight.numpy().ravel().tolist()]

    assert run(True) == run(False)


def test_gradients_of_arguments() -> None:
    @vkml.compile
    def step(x: vkml.Tensor) -> vkml.Tensor:
        y = (x * x).sum()
        y.backward()
        return y

    for value in (1.0, 2.0, 3.0):
        x = vkml.tensor([value], requires_grad=True)
        assert step(x).item() == value**2
        assert x.grad is not None and x.grad.item() == 2 * value
        assert x.requires_grad and x.is_leaf


def test_arguments_that_begin_to_collect_gradients() -> None:
    @vkml.compile
    def step(x: vkml.Tensor, y: vkml.Tensor) -> vkml.Tensor:
        x.requires_grad_()
        out = (x * x * y).sum()
        out.backward()
        y.requires_grad_(False)
        return out

    for value in (1.0, 2.0, 3.0):
        x, y = vkml.tensor([value]), vkml.tensor([2.0], requires_grad=True)
        assert step(x, y).item() == 2 * value**2
        assert x.requires_grad and not y.requires_grad
        assert x.grad is not None and x.grad.item() == 4 * value
        assert y.grad is not None and y.grad.item() == value**2


def test_a_compiled_function_inside_another() -> None:
    _, inner = counter()

    @vkml.compile
    def outer(x: vkml.Tensor) -> vkml.Tensor:
        return inner(x) * 2

    assert [outer(vkml.ones(2)).item() for _ in range(3)] == [10.0, 14.0, 18.0]
    assert inner.cache_info().misses == 0


def test_constants_of_a_trace_and_state_may_share_a_buffer() -> None:
    w = vkml.tensor([1.0, 2.0])
    y = (w * 1.0).detach()
    w.assign_(y)

    @vkml.compile
    def step() -> vkml.Tensor:
        w.assign_(w + 1)
        return y + w

    assert [step().tolist() for _ in range(3)] == [[3.0, 5.0], [4.0, 6.0], [5.0, 7.0]]


@settings(max_examples=60)
@given(program=steps(), seed=st.integers(0, 2**16))
def test_random_graphs_with_other_leaves(program: list[Step], seed: int) -> None:
    """A random graph with its gradients, compiled, gives the bits of the lazy one."""
    rng = np.random.default_rng(seed)

    def grads(leaves: list[vkml.Tensor]) -> list[vkml.Tensor]:
        out = build(program, leaves)
        found = vkml.grad(out.sum(), leaves, allow_unused=True)
        return [out, *(g for g in found if g is not None)]

    state = [vkml.tensor(rng.uniform(-1, 1, s).astype(np.float32)) for s in SHAPES[:2]]
    twins = [t.detach() for t in state]

    def step(held: list[vkml.Tensor], leaves: list[vkml.Tensor]) -> list[vkml.Tensor]:
        made = grads(leaves)
        for t in held:
            t.assign_(t * 0.5 + made[0].mean())
        return [*made, held[0] + 0.0]

    compiled = vkml.compile(lambda leaves: step(state, leaves))
    for _ in range(3):
        arrays = [rng.uniform(-1.5, 1.5, s).astype(np.float32) for s in SHAPES]
        found = compiled([vkml.tensor(a, requires_grad=True) for a in arrays])
        wanted = step(twins, [vkml.tensor(a, requires_grad=True) for a in arrays])
        for got, want in zip([*found, *state], [*wanted, *twins], strict=True):
            assert got.numpy().tobytes() == want.numpy().tobytes()
    assert compiled.cache_info()[:2] == (2, 1)


def test_a_kept_loss_of_every_step() -> None:
    run = Run("perceptron", "momentum", "compiled", "cpu")
    wanted = Run("perceptron", "momentum", "lazy", "cpu")
    vkml.manual_seed(6)
    losses = wanted.train(batches("perceptron", 6))
    vkml.manual_seed(6)
    kept = []
    for x, y in batches("perceptron", 6):
        kept.append(run.step(vkml.tensor(x), vkml.tensor(y)))
        run.schedule.step()
    found = [v for out in kept for v in (out["loss"], *out["more"][:1], out["more"][1][0])]
    assert [v.item() for v in found] == losses

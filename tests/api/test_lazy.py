"""Laziness changes no value: not when things are read, nor failures, nor the length of a graph."""

from __future__ import annotations

import gc
import itertools
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vkml

from .settings import quick

Step = tuple[int, int, int, int]
"""Which operation, on which two values of the pool, and a number to vary it by."""
LIMIT = 2000
"""No value of a program has more elements."""


def _index(x: vkml.Tensor, n: int) -> vkml.Tensor:
    return vkml.arange(x.shape[0]) * (n + 1) % x.shape[0]


OPS: tuple[Callable[[vkml.Tensor, vkml.Tensor, int], Any], ...] = (
    lambda x, y, n: x + y,
    lambda x, y, n: x - y,
    lambda x, y, n: x * y,
    lambda x, y, n: x / (y * y + 1),
    lambda x, y, n: vkml.maximum(x, y),
    lambda x, y, n: vkml.where(x > y, x, y),
    lambda x, y, n: x * (n / 4 - 1),
    lambda x, y, n: vkml.tanh(x),
    lambda x, y, n: vkml.sigmoid(x),
    lambda x, y, n: vkml.exp(vkml.clamp(x, -4.0, 4.0)),
    lambda x, y, n: vkml.relu(x),
    lambda x, y, n: vkml.gelu(x),
    lambda x, y, n: x.to((vkml.float16, vkml.float32)[n % 2]),
    lambda x, y, n: x.detach(),
    lambda x, y, n: x.T,
    lambda x, y, n: x.transpose(0, -1),
    lambda x, y, n: x.permute([(d + n) % x.ndim for d in range(x.ndim)]),
    lambda x, y, n: x.reshape(-1),
    lambda x, y, n: x.reshape(x.shape[0], -1),
    lambda x, y, n: x.unsqueeze(n % (x.ndim + 1)),
    lambda x, y, n: x[n % max(x.shape[0], 1)],
    lambda x, y, n: x[..., 1:],
    lambda x, y, n: x[::-1],
    lambda x, y, n: x[..., ::2],
    lambda x, y, n: x.expand(2, *x.shape),
    lambda x, y, n: x.flip(n % x.ndim),
    lambda x, y, n: x.contiguous(),
    lambda x, y, n: vkml.cat([x, y, x], axis=0),
    lambda x, y, n: vkml.stack([x, x], dim=n % (x.ndim + 1)),
    lambda x, y, n: x.pad((1, n % 3)),
    lambda x, y, n: x.repeat(*(1,) * (x.ndim - 1), 2),
    lambda x, y, n: x.tril(n % 3 - 1),
    lambda x, y, n: x.sum(n % x.ndim, keepdim=n > 3),
    lambda x, y, n: x.sum(),
    lambda x, y, n: x.mean(-1, keepdim=True),
    lambda x, y, n: x.amax(n % x.ndim),
    lambda x, y, n: x.cumsum(n % x.ndim),
    lambda x, y, n: vkml.prod(vkml.tanh(x), 0),
    lambda x, y, n: x.softmax(-1),
    lambda x, y, n: x.log_softmax(0),
    lambda x, y, n: x.layer_norm(1),
    lambda x, y, n: x @ y,
    lambda x, y, n: x @ x.T,
    lambda x, y, n: x.index_select(0, _index(x, n)),
    lambda x, y, n: vkml.scatter_add(x, 0, _index(x, n), x.shape[0] + n % 3),
    lambda x, y, n: x.sort(-1)[n % 2].to(vkml.float32),
    lambda x, y, n: vkml.dropout(x, 0.5, seed=n),
    lambda x, y, n: x.split(2)[-1],
    lambda x, y, n: x.assign_(y),
    lambda x, y, n: x.assign_(x + y),
    lambda x, y, n: x.assign_(x * 0.5 + 1),
)


def _pool() -> list[vkml.Tensor]:
    numbers = iter(range(10))

    def make(*shape: int, grad: bool = False) -> vkml.Tensor:
        rng = np.random.default_rng(next(numbers))
        return vkml.tensor(rng.normal(size=shape).astype(np.float32), requires_grad=grad)

    leaves = [make(3, 4, grad=True), make(4, grad=True), make(4, 3)]
    return [*leaves, make(2, 3, 4), make(3, 1), make(5), make(2, 1, 3, 2)]


def _step(op: int, pool: list[vkml.Tensor], a: int, b: int, n: int) -> vkml.Tensor | None:
    """Apply an operation to the first operands, from some place on, whose shapes fit."""
    for shift in range(len(pool)):
        x, y = pool[(a + shift) % len(pool)], pool[(b - shift) % len(pool)]
        leaf = x.is_leaf and x.requires_grad
        try:
            with vkml.no_grad() if leaf and n > 4 else vkml.enable_grad():
                return OPS[op](x, y, n)  # type: ignore[no-any-return]
        except (vkml.ShapeError, IndexError, vkml.GradientError, ZeroDivisionError):
            continue
    return None


def _run(steps: list[Step], eager: bool, read: Callable[[int], bool], backwards: bool) -> Any:
    """Run a program and give the bits of every value and gradient."""
    with vkml.eager_mode(eager):
        pool = _pool()
        leaves = pool[:2]
        for at, (op, a, b, n) in enumerate(steps):
            made = _step(op, pool, a, b, n)
            if made is not None and made.size <= LIMIT:
                pool.append(made)
            if read(at):
                pool[-1].numpy()
        some = [t for t in pool if t.requires_grad]
        grads = vkml.grad(some, leaves, [vkml.ones_like(t) for t in some], allow_unused=True)
        results = [*pool, *(g for g in grads if g is not None)]
        order = range(len(results))
        bits = {i: results[i].numpy().tobytes() for i in (reversed(order) if backwards else order)}
        return [(results[i].shape, results[i].dtype, bits[i]) for i in order]


PLACE = st.integers(0, 40)
STEPS = st.lists(
    st.tuples(st.integers(0, len(OPS) - 1), PLACE, PLACE, st.integers(0, 7)),
    min_size=5,
    max_size=40,
)


@quick(250)
@given(STEPS)
def test_values_do_not_depend_on_when_they_are_computed(steps: list[Step]) -> None:
    want = _run(steps, eager=True, read=lambda _: False, backwards=False)
    assert _run(steps, eager=False, read=lambda _: False, backwards=False) == want
    assert _run(steps, eager=False, read=lambda _: False, backwards=True) == want
    assert _run(steps, eager=False, read=lambda at: at % 3 == 0, backwards=False) == want


def test_every_operation_of_the_programs_works() -> None:
    for op, function in enumerate(OPS):
        fits = 0
        for x, y in itertools.product(_pool(), _pool()):
            with vkml.no_grad():
                try:
                    function(x, y, 1).numpy()
                except vkml.ShapeError:
                    continue
                fits += 1
        assert fits, op


# Assignment.
def test_values_captured_before_an_assignment_stay() -> None:
    for read_first in (False, True):
        x = vkml.tensor([1.0, 2.0])
        before, double = x * 1, x * 2
        x.assign_(x + 10)
        after = x * 2
        if read_first:
            assert after.tolist() == [22.0, 24.0]
        assert before.tolist() == [1.0, 2.0] and double.tolist() == [2.0, 4.0]
        assert x.tolist() == [11.0, 12.0] and after.tolist() == [22.0, 24.0]


def test_swaps_and_chains_of_assignments() -> None:
    a, b = vkml.tensor([1.0]), vkml.tensor([2.0])
    old = a.detach()
    a.assign_(b)
    b.assign_(old)
    assert (a.item(), b.item()) == (2.0, 1.0)
    a.assign_(a + b)
    a.assign_(a * 2)
    a.assign_(a + a)
    assert (a.item(), b.item()) == (12.0, 1.0)


@pytest.mark.parametrize("reads", [0, 1, 5])
def test_loops_with_several_assignments(reads: int) -> None:
    """A momentum step written out; reading values in between changes nothing."""
    w = vkml.tensor([1.0, -2.0], requires_grad=True)
    v, count = vkml.zeros(2), vkml.zeros(dtype=vkml.int64)
    host_w, host_v = np.array([1.0, -2.0], np.float32), np.zeros(2, np.float32)
    rate = np.float32(0.125)
    for step in range(10):
        w.grad = None
        (w * w).sum().backward()
        with vkml.no_grad():
            v.assign_(v * 0.5 + w.grad)
            w.assign_(w - v * 0.125)
            count += 1
        if reads and step % reads == 0:
            w.tolist()
        host_v = host_v * np.float32(0.5) + host_w * 2
        host_w = host_w - host_v * rate
    assert w.tolist() == host_w.tolist() and v.tolist() == host_v.tolist()
    assert count.item() == 10 and w.requires_grad and w.is_leaf


def test_a_pending_assignment_joins_the_next_submission() -> None:
    x, y = vkml.tensor([1.0]), vkml.tensor([5.0])
    x.assign_(x + 1)
    (y * 2).realize()
    assert x.node.storage is not None and x.item() == 2.0


def test_an_assigned_tensor_may_be_dropped() -> None:
    x = vkml.tensor([1.0])
    y = x * 3
    x.assign_(x + 1)
    del x
    gc.collect()
    assert y.item() == 3.0


# Failures.
def _bad_gather() -> vkml.Tensor:
    return vkml.gather(vkml.ones(3), 0, vkml.tensor([0, 7]))


def _bad_division() -> vkml.Tensor:
    return vkml.tensor([4, 5]) // vkml.tensor([2, 0])


def _bad_label() -> vkml.Tensor:
    return vkml.cross_entropy(vkml.ones(2, 3), vkml.tensor([1, 3]))


FAILURES = {
    "gather": (_bad_gather, vkml.IndexError_, r"(?s)(?=.*7)(?=.*3)"),
    "scatter_add": (
        lambda: vkml.scatter_add(vkml.ones(2), 0, vkml.tensor([0, 5]), 4),
        vkml.IndexError_,
        r"(?s)(?=.*5)(?=.*4)",
    ),
    "negative index": (
        lambda: vkml.index_select(vkml.ones(3), 0, vkml.tensor([-1])),
        vkml.IndexError_,
        r"(?s)(?=.*-1)(?=.*3)",
    ),
    "label": (_bad_label, vkml.IndexError_, r"(?s)(?=.*3)"),
    "floor_divide": (_bad_division, vkml.DivisionError, "zero"),
    "remainder": (lambda: vkml.tensor([4]) % 0, vkml.DivisionError, "zero"),
    "power": (
        lambda: vkml.pow(vkml.tensor([0, 2]), vkml.tensor([-1, 1])),
        vkml.DivisionError,
        "zero|0",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("eager", [False, True])
def test_a_failure_changes_nothing(name: str, eager: bool) -> None:
    make, error, words = FAILURES[name]
    with vkml.eager_mode(eager):
        x = vkml.tensor([1.0, 2.0])
        good = x * 2
        x.assign_(x + 10)
        with pytest.raises(error, match=words):
            vkml.realize(good, make())
        assert good.tolist() == [2.0, 4.0] and x.tolist() == [11.0, 12.0]
        x.assign_(x + 1)
        assert x.tolist() == [12.0, 13.0]


@pytest.mark.parametrize("name", FAILURES)
def test_an_assignment_of_a_failure_is_taken_back(name: str) -> None:
    make, error, words = FAILURES[name]
    x, other = vkml.zeros(2, dtype=vkml.float32), vkml.tensor([5.0])
    x.assign_(3.0).realize()
    x.assign_(make().sum())
    other.assign_(other * 2)
    captured = x + 1
    for _ in range(2):
        with pytest.raises(error, match=words):
            captured.realize()
    assert x.tolist() == [3.0, 3.0] and other.tolist() == [5.0]
    x.assign_(x * 2)
    assert x.tolist() == [6.0, 6.0]


def test_a_failed_value_fails_again_and_its_inputs_do_not() -> None:
    index = vkml.tensor([0, 7])
    bad = vkml.gather(vkml.ones(3) * 2, 0, index)
    for _ in range(3):
        with pytest.raises(vkml.IndexError_):
            bad.numpy()
    assert index.tolist() == [0, 7]
    index.assign_(vkml.tensor([0, 2]))
    assert vkml.gather(vkml.ones(3) * 2, 0, index).tolist() == [2.0, 2.0]


def test_where_does_not_excuse_a_failure() -> None:
    """Both sides of `where` are computed: an out-of-range index is told, never hidden."""
    with pytest.raises(vkml.IndexError_):
        vkml.where(vkml.tensor([True, True]), vkml.ones(2), _bad_gather()).realize()


# Size.
def test_a_graph_of_100_000_operations() -> None:
    x = vkml.tensor([1.0, 2.0], requires_grad=True)
    one = vkml.tensor([1.0, 1.0])
    y = x
    for _ in range(100_000):
        y = y + one
    y.sum().backward()
    assert y.tolist() == [100_001.0, 100_002.0]
    assert x.grad.tolist() == [1.0, 1.0]
    gone = weakref.ref(y.node)
    del y
    gc.collect()
    assert gone() is None


def test_a_long_chain_is_freed_without_being_computed() -> None:
    x = y = vkml.tensor([1.0], requires_grad=True)
    for _ in range(100_000):
        y = -y
    gone = weakref.ref(y.node)
    del x, y
    gc.collect()
    assert gone() is None


def test_memory_of_a_loop_is_freed() -> None:
    x = vkml.tensor([0.0])
    nodes = []
    for _ in range(50):
        x.assign_(x + 1)
        nodes.append(weakref.ref(x.node))
    assert x.item() == 50.0
    gc.collect()
    assert sum(n() is not None for n in nodes) <= 2

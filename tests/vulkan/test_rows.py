"""Kernels for whole rows: the bits of single steps, whatever is done to what rows."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import needs_vulkan  # noqa: F401
import numpy as np
import pytest

import vkml
from tests.oracle.values import Array, rough
from vkml_core import runtime
from vkml_core.errors import IndexError_

if TYPE_CHECKING:
    from vkml_core.tensor import Tensor

LENGTHS = (1, 2, 3, 4, 10, 32, 33, 100, 130, 512, 1000, 1025, 3000)
"""Elements of a row: of every entry of the table, in whole quads and not, in one chunk and more."""


def same(name: str, program: Any, *arrays: Array) -> int:
    """Compare the bits of what a program gives on both devices; give its dispatches."""
    found = []
    for device in ("cpu", name):
        given = [vkml.tensor(a, device=device, requires_grad=a.dtype.kind == "f") for a in arrays]
        vkml.realize(*given)
        runtime.clear_cache()
        before = vkml.device(device).stats().get("dispatches", 0)
        results = program(*given)
        vkml.realize(*results)
        count = vkml.device(device).stats().get("dispatches", 0) - before
        found.append([r.numpy() for r in results])
    for want, got in zip(*found, strict=True):
        assert (want.dtype, want.shape) == (got.dtype, got.shape)
        assert want.tobytes() == got.tobytes(), (want, got)
    return int(count)


def backward(y: Tensor, *leaves: Tensor) -> list[Tensor]:
    """The value and the gradients of what it was computed from."""
    y.backward(vkml.tensor(rough("g", *y.shape), device=y.device).to(y.dtype))
    return [y, *(x.grad for x in leaves if x.grad is not None)]


@pytest.mark.parametrize("n", LENGTHS)
def test_softmax(name: str, n: int) -> None:
    x = rough(f"x {n}", 1 + 70 // n, n)
    counts = [
        same(name, lambda a: [vkml.softmax(a, -1)], x),
        same(name, lambda a: backward(vkml.softmax(a, -1), a), x),
        same(name, lambda a: [vkml.log_softmax(a, -1)], x),
        same(name, lambda a: backward(vkml.log_softmax(a, -1), a), x),
    ]
    assert n == 1 or counts == [1, 1, 1, 1]


@pytest.mark.parametrize("n", LENGTHS)
def test_layer_norm(name: str, n: int) -> None:
    x, w, b = rough(f"x {n}", 9, n), rough("w", n), rough("b", n)
    assert n == 1 or same(name, lambda a, w, b: [vkml.layer_norm(a, 1, w, b)], x, w, b) == 1
    count = same(name, lambda a, w, b: backward(vkml.layer_norm(a, 1, w, b), a, w, b), x, w, b)
    assert n == 1 or count <= 2 + 2, "one for the rows, and two sums across them"


@pytest.mark.parametrize("n", [2, 10, 33, 100, 1025])
@pytest.mark.parametrize("smooth", [0.0, 0.1])
@pytest.mark.parametrize("rows", [32, 33])
def test_cross_entropy(name: str, n: int, smooth: float, rows: int) -> None:
    """One kernel for labels, one that checks them, one for the rows and one for the sum over them;
    bools of 33 rows, which do not fill their words, take another.
    """
    labels = np.random.default_rng(n).integers(0, n, rows)
    labels[::5] = -100

    def loss(x: Tensor, y: Tensor) -> list[Tensor]:
        found = vkml.cross_entropy(x, y, label_smoothing=smooth)
        found.backward()
        assert x.grad is not None
        return [found, x.grad]

    count = same(name, loss, rough(f"x {n}", rows, n), labels)
    assert smooth or count == 4 + rows % 4


def test_rows_of_several_axes(name: str) -> None:
    x = rough("x", 2, 3, 4, 10)
    assert same(name, lambda a: [vkml.softmax(a, -1)], x) == 1
    assert same(name, lambda a: [vkml.layer_norm(a, 2)], x) == 1
    same(name, lambda a: [vkml.softmax(a, 1), vkml.softmax(a, 0)], x)


def test_rows_too_long_keep_their_kernels(name: str) -> None:
    assert same(name, lambda a: [vkml.softmax(a, -1)], rough("x", 2, 4097)) > 1


def test_no_rows_and_no_elements(name: str) -> None:
    for shape in ((0, 5), (3, 0), (0, 0)):
        same(name, lambda a: [vkml.softmax(a + 1, 0).sum(1)], np.zeros(shape, np.float32))


@pytest.mark.parametrize("cut", [slice(0, 12), slice(1, 13), slice(3, 10), slice(4, 20)])
def test_rows_that_lie_apart(name: str, cut: slice) -> None:
    """The next row is neither as far as a row is long nor, always, at a multiple of four."""
    for width in (20, 23):
        x = rough(f"x {width}", 7, width)
        assert same(name, lambda a: [vkml.softmax(a[:, cut], -1)], x) == 1
        assert same(name, lambda a: [vkml.softmax(a[2:, cut] * a[2:, cut], -1)], x) == 1
        same(name, lambda a: [vkml.softmax(a.flip(0)[:, cut], -1)], x)


@pytest.mark.parametrize("dtype", [np.float16, np.int32])
@pytest.mark.parametrize("n", [4, 7, 64, 1000])
def test_other_dtypes(name: str, dtype: type, n: int) -> None:
    x = rough(f"x {n}", 5, n)
    x = np.where(np.isfinite(x), x, 3).clip(-1000, 1000).astype(dtype)

    def centred(a: Tensor) -> list[Tensor]:
        low, high = a.amin(1, keepdim=True), a.amax(1, keepdim=True)
        return [(a - low) * (high - a), (a - low).sum(1), (a * a).amax(1)]

    same(name, centred, x)
    if dtype is np.float16:
        same(name, lambda a: [vkml.softmax(a, -1)], x)
        same(name, lambda a: backward(vkml.layer_norm(a, 1), a), x)


def test_zeros_keep_the_signs_of_the_contract(name: str) -> None:
    """A sum starts from +0, so that it is never -0; extremes tell -0 from +0; NaN wins."""
    rows = [[-0.0] * 5, [-0.0, 0.0, -0.0, -0.0, -0.0], [np.nan, -np.inf, 0, 1, np.inf]]
    x = np.array([*rows, [np.inf, -np.inf, 0, 0, 0], [-np.inf] * 5, [1e-45] * 5], np.float32)
    for other in (x, np.repeat(x, 13, 1), np.repeat(x, 300, 1)):
        same(
            name,
            lambda a: [a * a.sum(1, keepdim=True), a - a.amax(1, keepdim=True), a.amin(1) * 2],
            other,
        )
        same(name, lambda a: [vkml.softmax(a, -1), vkml.log_softmax(a, -1)], other)


@pytest.mark.parametrize("index", [np.int64, np.int32])
@pytest.mark.parametrize("n", [5, 12, 1000])
def test_what_is_picked_and_put_back(name: str, index: type, n: int) -> None:
    at = np.random.default_rng(n).integers(0, n, (6, 1)).astype(index)

    def picked(x: Tensor, i: Tensor) -> list[Tensor]:
        y = vkml.exp(x - x.amax(1, keepdim=True))
        return backward((y / y.sum(1, keepdim=True)).gather(1, i.to(vkml.int64)) * 2, x)

    same(name, picked, rough("x", 6, n), at)


@pytest.mark.parametrize("wrong", [-1, 10, 2**40, -(2**40)])
def test_indices_are_checked(name: str, wrong: int) -> None:
    labels = np.array([0, 9, wrong, 3])
    said = []
    for device in ("cpu", name):
        x = vkml.tensor(rough("x", 4, 10), device=device, requires_grad=True)
        state = vkml.zeros(4, 10, device=device).realize()
        y = vkml.tensor(labels, device=device)
        loss = -vkml.log_softmax(x, -1).gather(1, y.reshape(4, 1)).sum()
        loss.backward()
        assert x.grad is not None
        state.assign_(x.grad)
        with pytest.raises(IndexError_) as raised:
            vkml.realize(loss, state)
        said.append(str(raised.value))
        assert not state.numpy().any(), "nothing was changed"
    assert said[0] == said[1]


def test_a_decision_is_published(name: str) -> None:
    vkml.record_decisions()
    vkml.softmax(vkml.ones(8, 1000, device=name).realize(), -1).realize()
    (found,) = (d for d in vkml.decisions() if d.op == "amax")
    vkml.stop_recording_decisions()
    assert found.chose == "whole rows" and "8 rows of 1000" in found.because
    assert all(found.available[what] >= need for what, need in found.required.items())


class Program:
    """Random calls on rows, the same each time: on elements, on values of rows, and on both."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        dice = random.Random(seed)
        self.rows, self.n = dice.choice((1, 2, 5, 40)), dice.choice(LENGTHS[1:-3])

    def arrays(self) -> list[Array]:
        shapes = ((self.rows, self.n), (self.rows, self.n), (self.n,), (self.rows, 1))
        return [rough(f"{self.seed} {i}", *shape) for i, shape in enumerate(shapes)]

    def __call__(self, *given: Tensor) -> list[Tensor]:
        dice = random.Random(self.seed)
        known = list(given)
        for _ in range(dice.randint(3, 14)):
            known.append(self.call(dice, known))
        wanted = dice.sample(known[len(given) :], dice.randint(1, 3))
        return [*dict.fromkeys([*wanted, known[-1]])]

    def call(self, dice: random.Random, known: Sequence[Tensor]) -> Tensor:
        a, b = dice.choice(known[-5:]), dice.choice(known)
        kind = dice.choice(("one", "two", "two", "two", "reduce", "reduce", "where"))
        if kind == "one":
            ops = ("exp", "neg", "relu", "abs", "rsqrt", "tanh", "log", "log2", "log1p")
            return getattr(vkml, dice.choice(ops))(a)
        if kind == "two":
            op = dice.choice(("add", "sub", "mul", "maximum", "div"))
            return getattr(vkml, op)(a, b)
        if kind == "where":
            return vkml.where(a > b, a, dice.choice((0.0, 1.5)))
        if a.shape != (self.rows, self.n):
            return a + 1.0
        return getattr(a, dice.choice(("sum", "sum", "amax", "amin")))(1, keepdim=True)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(name: str, seed: int) -> None:
    program = Program(seed)
    with np.errstate(all="ignore"):
        same(name, lambda *given: [x.detach() for x in program(*given)], *program.arrays())

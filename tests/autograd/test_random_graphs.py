"""Random graphs of 3 to 12 operations: first and second derivatives against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from typing import Final

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import vkml
from vkml import Tensor

from .case import ints
from .derivatives import assert_close, exact, finite_differences, leaf, orders

ROWS, COLS = 2, 3
SHAPES: Final = ((ROWS, COLS), (ROWS, 1), (1, COLS), (ROWS, COLS))

UNARY: Final[dict[str, Callable[[Tensor], Tensor]]] = {
    **{name: methodcaller(name) for name in ("neg", "tanh", "sin", "cos", "sigmoid")},
    **{name: methodcaller(name) for name in ("erf", "erfc", "gelu", "silu")},
    "softplus": lambda x: x.softplus(2.0),
    "elu": lambda x: x.elu(0.5),
    "square": lambda x: x.square() * 0.5,
    "cube": lambda x: (x * 0.5) ** 3,
    "sqrt": lambda x: (x * x + 1.0).sqrt(),
    "log1p": lambda x: (x * x).log1p(),
    "rsqrt": lambda x: (x * x + 1.0).rsqrt(),
    "sum": lambda x: x.sum(1, keepdim=True) * 0.5,
    "mean": lambda x: x.mean(0, keepdim=True),
    "prod": lambda x: x.tanh().prod(-1, keepdim=True),
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(0),
    "logsumexp": lambda x: x.logsumexp(1, keepdim=True),
    "rms_norm": lambda x: x.rms_norm(1, eps=0.5),
    "cumsum": lambda x: x.cumsum(1) * 0.5,
    "flip": lambda x: x[::-1, ::-1],
    "gather": lambda x: x[[1, 1] if x.shape[0] > 1 else [0, 0]],
    "cat": lambda x: vkml.cat([x[:, 1:], x[:, :1]], 1),
    "pad": lambda x: vkml.pad(x, (1, 0), value=0.25)[:, : x.shape[1]],
    "scatter": lambda x: vkml.scatter_add(x, 1, ints([0] * x.shape[1]), x.shape[1]) * 0.5,
    "reshape": lambda x: x.T.reshape(x.shape),
}
BINARY: Final[dict[str, Callable[[Tensor, Tensor], Tensor]]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b * 0.5,
    "div": lambda a, b: a / (b * b + 1.0),
    "pow": lambda a, b: (a * a + 1.0) ** b.tanh(),
    "where": lambda a, b: vkml.where(vkml.tensor([[True], [False]]), a, b),
    "matmul": lambda a, b: (a.T @ (a * 0.5)).matmul(a.T).T + b,
}
OPERATIONS: Final[list[str]] = [*UNARY, *BINARY]

Step = tuple[str, int, int]


def steps() -> st.SearchStrategy[list[Step]]:
    place = st.integers(0, 15)
    return st.lists(st.tuples(st.sampled_from(OPERATIONS), place, place), min_size=3, max_size=12)


def build(program: list[Step], inputs: list[Tensor]) -> Tensor:
    """Apply each step to values made before it, and join the last three."""
    values = list(inputs)
    for name, i, j in program:
        a, b = values[-1 - i % len(values)], values[-1 - j % len(values)]
        values.append(UNARY[name](a) if name in UNARY else BINARY[name](a, b))
    joined: Tensor = vkml.cat([v.reshape(-1) for v in values[-3:]])
    return joined


@settings(max_examples=150)
@given(program=steps(), seed=st.integers(0, 2**16))
def test_derivatives_of_a_random_graph(program: list[Step], seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = [leaf(rng.uniform(-1.5, 1.5, shape).astype(np.float32)) for shape in SHAPES]
    for loss, found in orders(build(program, inputs), inputs, 2):
        assert_close(exact(found, inputs), finite_differences(loss, inputs), 1e-6)


@settings(max_examples=40)
@given(program=steps(), seed=st.integers(0, 2**16))
def test_gradients_of_a_random_graph_on_the_device(program: list[Step], seed: int) -> None:
    rng = np.random.default_rng(seed)
    inputs = [leaf(rng.uniform(-1.5, 1.5, shape).astype(np.float32)) for shape in SHAPES]
    _, found = next(orders(build(program, inputs), inputs, 1))
    vkml.realize(found)
    assert_close([g.numpy() for g in found], exact(found, inputs), 3e-5)

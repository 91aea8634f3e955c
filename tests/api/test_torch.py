"""Every public function gives PyTorch's values, dtypes, shapes and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import vkml
from vkml_core.public import PUBLIC

from . import (
    cases_creation,
    cases_elementwise,
    cases_network,
    cases_reduce,
    cases_shape,
    test_execution,
    test_getitem,
    test_random,
)
from .case import Case, leaves
from .support import (
    COMPOSED,
    EXACT,
    GRADIENT,
    assert_close,
    assert_same,
    distinct,
    to_torch,
    to_vkml,
)

CASES = [
    *cases_elementwise.CASES,
    *cases_reduce.CASES,
    *cases_shape.CASES,
    *cases_network.CASES,
    *cases_creation.CASES,
]
TESTED_ELSEWHERE = {
    **test_execution.TESTS,
    **test_getitem.TESTS,
    **test_random.TESTS,
}
"""Functions whose result is no function of their arguments alone, and the test of each."""


def test_every_public_function_has_a_case() -> None:
    tested = {c.name for c in CASES} | set(TESTED_ELSEWHERE)
    assert set(PUBLIC) - tested == set()
    assert tested - set(PUBLIC) == set()
    assert all(callable(t) and t.__name__.startswith("test_") for t in TESTED_ELSEWHERE.values())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value(case: Case) -> None:
    got = case.run(to_vkml(list(case.args)))
    want = case.run_theirs(to_torch(list(case.args)))
    assert_same(got, want, case.tolerance, signs=case.signs)


@pytest.mark.parametrize("case", [c for c in CASES if c.grad], ids=str)
def test_gradient(case: Case) -> None:
    """In float64 PyTorch's own rounding plays no part; in float16 it would."""
    args = to_vkml(list(case.args))
    inputs = [t.requires_grad_() for t in leaves(args)]
    theirs = to_torch(list(case.args), torch.float64)
    their_inputs = [t.requires_grad_() for t in leaves(theirs)]
    outs, their_outs = (
        leaves(_some(case.run(args))),
        leaves(_some(case.run_theirs(theirs, torch.float64))),
    )
    seeds = [np.cos(np.arange(o.size, dtype=np.float32)).reshape(o.shape) for o in outs]
    got = vkml.grad(outs, inputs, [vkml.tensor(s) for s in seeds], allow_unused=True)
    want = torch.autograd.grad(
        their_outs, their_inputs, [torch.from_numpy(s).double() for s in seeds], allow_unused=True
    )
    for g, w, x in zip(got, want, inputs, strict=True):
        assert g is None or (g.shape, g.dtype) == (x.shape, x.dtype)
        found = np.zeros(x.shape, np.float32) if g is None else g.numpy()
        expected = np.zeros(x.shape) if w is None else w.numpy()
        assert_close(found, expected, GRADIENT, signs=False)


def _some(result: Any) -> Any:
    return result if isinstance(result, list | tuple) else [result]


@pytest.mark.parametrize(
    "case",
    [c for c in CASES if PUBLIC[c.name].method and isinstance(c.args[0], np.ndarray)],
    ids=str,
)
def test_method_gives_the_bits_of_the_function(case: Case) -> None:
    first, *rest = to_vkml(list(case.args))
    kwargs = {k: to_vkml(v) for k, v in case.kwargs.items()}
    for got, want in zip(
        _some(getattr(first, case.name)(*rest, **kwargs)),
        _some(case.run([first, *rest])),
        strict=True,
    ):
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        assert got.numpy().tobytes() == want.numpy().tobytes()


def test_methods_are_those_of_the_table() -> None:
    for entry in PUBLIC.values():
        if entry.name not in ("getitem", "grad", "backward", "realize", "detach"):
            assert hasattr(vkml.Tensor, entry.name) == entry.method, entry.name


# Where vkml's stated convention is not PyTorch's: ties.
def _gradient(function: Any, *values: Any) -> list[Any]:
    xs = [vkml.tensor(v, requires_grad=True) for v in values]
    function(*xs).sum().backward()
    return [x.grad.tolist() for x in xs]


def test_ties_of_amax_each_take_the_whole_gradient() -> None:
    for name in ("amax", "amin"):
        assert _gradient(getattr(vkml, name), [2.0, 2.0, 2.0]) == [[1.0, 1.0, 1.0]]
    assert _gradient(vkml.amax, [2.0, 1.0, 2.0]) == [[1.0, 0.0, 1.0]]


def test_ties_of_maximum_go_to_the_first() -> None:
    for name in ("maximum", "minimum"):
        assert _gradient(getattr(vkml, name), [2.0], [2.0]) == [[1.0], [0.0]]


def test_kinks_have_the_stated_gradients() -> None:
    assert _gradient(vkml.relu, [0.0, -0.0]) == [[0.0, 0.0]]
    assert _gradient(vkml.abs, [0.0]) == [[0.0]]
    assert _gradient(lambda x: vkml.clamp(x, -1.0, 1.0), [-1.0, 1.0, 2.0]) == [[1.0, 1.0, 0.0]]


def test_signs_of_zeros_in_maximum_and_relu() -> None:
    a, b = vkml.tensor([0.0, -0.0]), vkml.tensor([-0.0, 0.0])
    assert not np.signbit(vkml.maximum(a, b).numpy()).any()
    assert np.signbit(vkml.minimum(a, b).numpy()).all()
    assert not np.signbit(vkml.relu(b).numpy()).any()
    assert not np.signbit(vkml.sign(b).numpy()).any()


SMOOTH = ("exp", "log", "tanh", "sigmoid", "erf", "erfc", "sqrt", "rsqrt", "reciprocal")
SMOOTH += ("sin", "cos", "tan", "exp2", "expm1", "log2", "log10", "log1p", "square")
SECOND: dict[str, Any] = {
    **{n: lambda m, x, n=n: getattr(m, n)(x) for n in SMOOTH},
    "softmax": lambda m, x: m.softmax(x, 0) ** 2,
    "logsumexp": lambda m, x: m.logsumexp(x, 0),
    "prod": lambda m, x: m.prod(x),
    "std": lambda m, x: m.std(x) ** 3,
    "cumsum": lambda m, x: m.cumsum(m.exp(x), 0),
    "matmul": lambda m, x: m.matmul(x.reshape(2, 2), m.exp(x.reshape(2, 2))),
    "gather": lambda m, x: x[[0, 0, 3]] * x[[1, 2, 3]],
    "slice": lambda m, x: x[1:] * x[:-1],
    "pow": lambda m, x: x**x,
}


@pytest.mark.parametrize("name", SECOND)
def test_second_derivative(name: str) -> None:
    value = np.array([0.3, 0.7, 1.1, 0.45], np.float32)
    x = vkml.tensor(value, requires_grad=True)
    (first,) = vkml.grad(SECOND[name](vkml, x).sum(), x, create_graph=True)
    (second,) = vkml.grad((first * first).sum(), x)
    y = torch.from_numpy(value).double().requires_grad_()
    (their_first,) = torch.autograd.grad(SECOND[name](torch, y).sum(), y, create_graph=True)
    (their_second,) = torch.autograd.grad((their_first * their_first).sum(), y)
    assert_close(second.numpy(), their_second.numpy(), GRADIENT, signs=False)


WINDOWS: dict[str, Any] = {
    "conv2d": (vkml.conv2d, F.conv2d),
    "max_pool2d": (lambda x, w: vkml.max_pool2d(x * x, 2), lambda x, w: F.max_pool2d(x * x, 2)),
    "avg_pool2d": (lambda x, w: vkml.avg_pool2d(x * x, 2), lambda x, w: F.avg_pool2d(x * x, 2)),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_second_derivative_of_windows(name: str) -> None:
    ours, theirs = WINDOWS[name]
    values = distinct(1, 2, 5, 4) / 4, distinct(3, 2, 2, 2) / 4
    xs = [vkml.tensor(v, requires_grad=True) for v in values]
    ys = [torch.from_numpy(v).double().requires_grad_() for v in values]
    (first,) = vkml.grad((ours(*xs) ** 2).sum(), xs[0], create_graph=True)
    got = vkml.grad((first**2).sum(), xs, allow_unused=True)
    (first,) = torch.autograd.grad((theirs(*ys) ** 2).sum(), ys[0], create_graph=True)
    want = torch.autograd.grad((first**2).sum(), ys, allow_unused=True)
    for g, w in zip(got, want, strict=True):
        assert (g is None) == (w is None)
        if w is not None:
            assert_close(g.numpy(), w.numpy(), GRADIENT, signs=False)


def test_default_arguments_are_pytorchs() -> None:
    x = np.array([[0.5, -1.0, 2.0], [1.0, 1.5, -0.25]], np.float32)
    for name in ("elu", "leaky_relu", "softplus", "gelu", "silu"):
        theirs = getattr(F, name)(torch.from_numpy(x))
        assert_same(getattr(vkml, name)(vkml.tensor(x)), theirs, COMPOSED)
    assert_same(vkml.var(vkml.tensor(x)), torch.var(torch.from_numpy(x)), COMPOSED)
    assert_same(vkml.tril(vkml.tensor(x)), torch.tril(torch.from_numpy(x)), EXACT)


def test_arange_without_elements_is_empty() -> None:
    """PyTorch raises an error here, NumPy and vkml give no element."""
    assert vkml.arange(5, 2).shape == vkml.arange(0.5, 0.0).shape == (0,)

"""Whatever a function is given, only vkml's own errors come out, and no argument is changed."""

from __future__ import annotations

import inspect
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import vkml
from vkml_core.public import PUBLIC

from .settings import quick
from .support import to_vkml
from .test_torch import CASES

SMALL = 10_000
"""Results with more elements are not computed: they are lazy and may be huge."""

PLAIN: tuple[Any, ...] = (
    None, "", "a", "mean", "float32", b"x", True, 0, 1, -1, 2, 3, 7, 2**31, -(2**31), 2**40, 2**70,
    -(2**70), 10**400, 0.0, 0.5, -1.5, 1e300, np.nan, np.inf, -np.inf, 1j, (), [], (0,), (1, 2),
    [1, -1], (2, 3), [[1], [2]], [[1], [1, 2]], (2, 2, 2, 2, 2), (2**40, 2**40), ("a",), (None, 1),
    (1.5, 2), {}, {1: 2}, {0}, frozenset(), slice(None), slice(None, None, 0), slice("a"), Ellipsis,
    NotImplemented, object(), int, float, bool, len, vkml, vkml.float32, vkml.int64, vkml.bool_,
    np.float64(1.5), np.float32(np.nan), np.int64(2), np.uint8(3), np.bool_(True), np.complex64(1j),
    np.float32, np.int8, np.dtype(np.float16), range(3), np.arange(2), np.array([0.5, np.nan]),
    np.array(["a"]), np.array([None]), np.zeros((1,) * 5), np.zeros((0, 2)), np.array(3),
)  # fmt: skip


def tensors() -> tuple[vkml.Tensor, ...]:
    """Make one tensor of every dtype and rank, empty, with NaN, with a gradient, a lazy one."""
    row = np.array([[0.5, -1.0, 2.0], [3.0, 0.0, -0.25]], np.float32)
    return (
        vkml.tensor(row),
        vkml.tensor(row, requires_grad=True),
        vkml.tensor(row[0], requires_grad=True) * 2,
        vkml.tensor(row, dtype=vkml.float16),
        vkml.tensor([[0, 1, 2], [2, 1, -7]]),
        vkml.tensor([1, 0], dtype=vkml.int32),
        vkml.tensor([[True, False, True], [False, True, True]]),
        vkml.tensor([np.nan, np.inf, -np.inf, -0.0]),
        vkml.tensor(1.5),
        vkml.tensor(2),
        vkml.tensor(True),
        vkml.zeros(0, 3),
        vkml.zeros(2, 0, 1, dtype=vkml.int64),
        vkml.tensor(row).reshape(1, 1, 2, 3),
        vkml.tensor(np.arange(24, dtype=np.float32)).reshape(2, 3, 4).transpose(0, 1),
        vkml.full((2, 3), 7.0),
    )


JUNK = range(len(PLAIN) + len(tensors()))
CHANGING = ("assign", "backward")
"""What they do to an argument is their purpose; when they fail they change nothing either."""
X, INDEX = np.ones((2, 3), np.float32), np.array([1, 0])
GOOD: dict[str, tuple[Any, ...]] = {
    "realize": (X,),
    "plan": (X,),
    "asarray": (X,),
    "detach": (X,),
    "assign": ([X], [X]),
    "backward": (X, X),
    "grad": (X, X),
    "from_numpy": (X,),
    "manual_seed": (3,),
    "get_rng_state": (),
    "set_rng_state": ({"seed": 3, "calls": 4},),
    "rand": (2, 3),
    "randn": (2, 3),
    "randint": (0, 5, (2,)),
    "dropout": (X, 0.5, 3, 0, True),
    "getitem": (X, 0),
}
"""Calls of the functions that have no case."""


def junk(index: int, pool: tuple[vkml.Tensor, ...]) -> Any:
    """Give an argument by number: a plain one or a tensor of the pool."""
    return PLAIN[index] if index < len(PLAIN) else pool[index - len(PLAIN)]


def state(pool: tuple[vkml.Tensor, ...]) -> list[Any]:
    """Tell all that a call must not change."""
    return [(t.requires_grad, t.shape, t.dtype, t.numpy().tobytes()) for t in pool]


def attempt(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> bool:
    """Call and compute; say whether it worked. Any error that is not vkml's comes through."""
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:  # only an alias, dim for axis, may be taken all the same
        with pytest.raises((TypeError, vkml.Error)):
            function(*args, **kwargs)
        return False
    try:
        result = function(*args, **kwargs)
        for t in result if isinstance(result, tuple | list) else [result]:
            if isinstance(t, vkml.Tensor) and t.size <= SMALL:
                assert t.numpy().shape == t.shape
    except vkml.Error as error:
        assert str(error)
        return False
    return True


def good_call(name: str) -> tuple[list[Any], dict[str, Any]]:
    """Give a call that works, with as many arguments as any case has."""
    if name in GOOD:
        return to_vkml(list(GOOD[name])), {}
    known = [c for c in CASES if c.name == name]
    best = max(known, key=lambda c: len(c.args) + len(c.kwargs))
    return to_vkml(list(best.args)), {k: to_vkml(v) for k, v in best.kwargs.items()}


def named(name: str, taken: int) -> list[str]:
    """List the parameters that a call with so many positional arguments may name."""
    parameters = list(inspect.signature(PUBLIC[name].function).parameters.values())
    free = [p for p in parameters[taken:] if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    return [p.name for p in free]


@pytest.mark.parametrize("name", PUBLIC)
def test_one_wrong_argument(name: str) -> None:
    pool, function = tensors(), PUBLIC[name].function
    before = state(pool)
    good, kwargs = good_call(name)
    for i, j in itertools.product(range(len(good)), JUNK):
        args = [*good[:i], junk(j, pool), *good[i + 1 :]]
        worked = attempt(function, args, kwargs)
        if name in CHANGING:
            pool, before = _after(pool, before, worked)
    for parameter, j in itertools.product(named(name, len(good)), JUNK):
        attempt(function, good, {**kwargs, parameter: junk(j, pool)})
    assert state(pool) == before


def _after(pool: Any, before: list[Any], worked: bool) -> tuple[Any, list[Any]]:
    """Take fresh tensors where a change was meant; check that there is none otherwise."""
    if worked:
        pool = tensors()
        return pool, state(pool)
    assert state(pool) == before
    return pool, before


@pytest.mark.parametrize("name", PUBLIC)
def test_wrong_arguments_together(name: str) -> None:
    function = PUBLIC[name].function
    parameters = named(name, 0)
    lists = st.lists(st.sampled_from(JUNK), max_size=max(len(parameters), 2))

    @quick(20)
    @given(
        lists, st.dictionaries(st.sampled_from([*parameters, "nonsense"]), st.sampled_from(JUNK))
    )
    def check(places: list[int], words: dict[str, int]) -> None:
        pool = tensors()
        before = state(pool)
        args, kwargs = [junk(j, pool) for j in places], {k: junk(j, pool) for k, j in words.items()}
        worked = attempt(function, args, kwargs)
        assert (worked and name in CHANGING) or state(pool) == before

    check()


METHODS = ("assign_", "backward", "requires_grad_", "detach", "realize", "numpy", "item", "tolist")
METHODS += ("numel", "defined")
OPERATORS = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_")
OPERATORS += ("xor", "lt", "le", "gt", "ge", "eq", "ne", "getitem")
IN_PLACE = ("iadd", "isub", "imul", "itruediv")


def test_every_method_is_in_a_list() -> None:
    plain = {n for n in dir(vkml.Tensor) if not n.startswith("_")} - set(PUBLIC)
    properties = {n for n in plain if not callable(getattr(vkml.Tensor, n))}
    for_the_runtime = {"adopt", "restore"}
    assert plain - properties - for_the_runtime == set(METHODS) - set(PUBLIC)


@pytest.mark.parametrize("name", METHODS)
def test_methods(name: str) -> None:
    for at, j in itertools.product(range(len(tensors())), JUNK):
        pool = tensors()
        before = state(pool)
        method = getattr(pool[at], name)
        worked = [attempt(method, args, {}) for args in ([], [junk(j, pool)])]
        changed = state(pool)
        del before[at], changed[at]
        assert changed == before or any(worked)


@pytest.mark.parametrize("name", (*OPERATORS, *IN_PLACE))
def test_operators(name: str) -> None:
    function = getattr(operator, name)
    for swap, at in itertools.product((False, True), range(len(tensors()))):
        pool = tensors()
        before = state(pool)
        for j in JUNK:
            args = (pool[at], junk(j, pool))
            try:
                with vkml.no_grad():
                    made = function(*(reversed(args) if swap and name != "getitem" else args))
                if isinstance(made, vkml.Tensor) and made.size <= SMALL:
                    made.numpy()
            except (vkml.Error, TypeError) as error:
                pythons = error.__traceback__ is not None and error.__traceback__.tb_next is None
                assert isinstance(error, vkml.Error) or pythons
            if name in IN_PLACE:
                pool, before = _after(pool, before, state(pool) != before)
        assert state(pool) == before


def test_grad_takes_only_what_fits() -> None:
    pool = tensors()
    for t, j in itertools.product(pool, JUNK):
        value = junk(j, pool)
        try:
            t.grad = value
        except vkml.Error:
            assert t.grad is None
        else:
            assert value is None or (value.shape, value.dtype) == (t.shape, t.dtype)
        t.grad = None

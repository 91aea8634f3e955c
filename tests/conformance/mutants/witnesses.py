"""For each wrong backend something that it computes wrongly, and something alike that it does not.

A witness is given a device and answers with an array, or with what was raised.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

import vkml
from vkml import Tensor
from vkml_core.errors import Error

Witness = Callable[[str], Any]


@dataclass(frozen=True)
class Pair:
    """What differs from the oracle on a backend, and what does not."""

    wrong: Witness
    right: Witness


def numbers(*shape: int, seed: int = 0, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    """Give normal numbers that have all their bits."""
    found = np.random.default_rng(seed).standard_normal(shape)
    return (found if np.dtype(dtype).kind == "f" else 9 * found).astype(dtype)


def _of(function: Callable[..., Tensor], *arrays: Any) -> Witness:
    """Apply a function to arrays on the device."""
    given = [np.asarray(a, a.dtype if isinstance(a, np.ndarray) else None) for a in arrays]
    return lambda device: function(*(vkml.tensor(a, device=device) for a in given)).numpy()


def _twice(function: Callable[..., Tensor], *shape: int) -> Pair:
    """Run one plan once, and twice with other values."""

    def second(device: str) -> Any:
        _of(function, numbers(*shape, seed=1))(device)
        return _of(function, numbers(*shape, seed=2))(device)

    return Pair(second, _of(function, numbers(*shape, seed=2)))


def _product(m: int, k: int, n: int = 3, dtype: Any = np.float32, batch: int = 0) -> Witness:
    lead = (batch,) * bool(batch)
    a, b = numbers(*lead, m, k, dtype=dtype), numbers(*lead, k, n, seed=1, dtype=dtype)
    return _of(lambda x, y: x @ y, a, b)


def _line_start(k: int) -> Witness:
    """A product large enough for tiles, one line of which begins with NaN."""
    a = numbers(40, k)
    a[5, 0] = np.nan
    return _of(lambda x, y: x @ y, a, numbers(k, 40, seed=1))


def _sum(n: int) -> Witness:
    return _of(lambda x: x.sum(dim=1), numbers(32, n))


def _float32(*values: Any) -> np.ndarray[Any, Any]:
    return np.array(values, np.float32)


def _word(word: int) -> np.ndarray[Any, Any]:
    return np.array([word], np.uint32).view(np.float32)


def _div(a: Any, b: Any) -> Witness:
    return _of(lambda x, y: x / y, a, b)


def _raised(function: Witness) -> Witness:
    """Answer with the type of the error, or with what was computed."""

    def answer(device: str) -> Any:
        try:
            return function(device)
        except Error as error:
            return np.array(type(error).__name__)

    return answer


def _gather(size: int, *index: int) -> Witness:
    x, i = np.arange(size, dtype=np.float32), np.array(index, np.int64)
    return _raised(_of(lambda x, i: x.gather(0, i), x, i))


def _after_a_failure(device: str) -> Any:
    _gather(8, 8)(device)
    return _gather(8, 3)(device)


def _chain(x: Tensor) -> Tensor:
    """Read one temporary value twice, with another one made between."""
    first = x.sin()
    second = first + x
    return first * x.cos() + second


def _expression(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    return a * b + c


def _eager(function: Callable[..., Tensor], *arrays: Any) -> Witness:
    def answer(device: str) -> Any:
        with vkml.eager_mode():
            return _of(function, *arrays)(device)

    return answer


def _gradient(device: str) -> Any:
    x = vkml.tensor(numbers(3, 5), device=device, requires_grad=True)
    y = vkml.tensor(numbers(3, 5, seed=1), device=device)
    (x.T * y.T).backward(vkml.tensor(numbers(5, 3, seed=2), device=device))
    assert x.grad is not None
    return x.grad.numpy()


def _second_number(device: str) -> Any:
    x = numbers(4)
    _of(lambda t: t * 2.0, x)(device)
    return _of(lambda t: t * 3.0, x)(device)


_THREE: Final = tuple(numbers(64, seed=s) for s in range(3))
_MANY: Final = tuple(numbers(4096, seed=s) for s in range(2))
PAIRS: Final[dict[str, Pair]] = {
    "fused": Pair(_product(4, 7), _product(4, 7, dtype=np.int32)),
    "loops": Pair(_product(8, 9), _product(8, 8)),
    "expression": Pair(_of(_expression, *_THREE), _eager(_expression, *_THREE)),
    "reduction": Pair(_sum(40), _sum(2)),
    "chunks": Pair(_sum(4096), _sum(2048)),
    "split": Pair(_product(8, 1536, 8), _product(8, 1024, 8)),
    "batch": Pair(_product(48, 9), _product(47, 9)),
    "flushing": Pair(_of(lambda x: x * 0.5, _float32(2e-38)), _of(lambda x: x * 0.5, _float32(3))),
    "division": Pair(_div(_word(0x3FD4A000), _word(0x3FA66000)), _div(*_MANY)),
    "quotient": Pair(_div(_word(0x4B23E5FD), _word(0x4B3C9173)), _div(*_MANY)),
    "half": Pair(_of(lambda x: x.to(vkml.float16), _float32(1.0009)), _of(vkml.exp, _float32(1))),
    "nan": Pair(
        _of(vkml.maximum, _float32(np.nan, 1), _float32(0, np.nan)),
        _of(vkml.maximum, _float32(-0.0, 1, 2), _float32(0, np.inf, -3)),
    ),
    "zero": Pair(_of(lambda x: -x, _float32(0)), _of(lambda x: -x, _float32(-0.0, 1, np.nan))),
    "ties": Pair(
        _of(lambda x: x.argmax(0), _float32(1, 2, 2)), _of(lambda x: x.argmax(0), _float32(1, 3, 2))
    ),
    "philox": Pair(
        lambda device: vkml.rand(2, 3, seed=1, device=device).numpy(),
        lambda device: vkml.rand(2, 4, seed=1, device=device).numpy(),
    ),
    "last": Pair(_product(65, 3, 66), _product(64, 3, 66)),
    "tail": Pair(_product(3, 6, batch=2), _product(3, 6)),
    "rows": Pair(_line_start(129), _line_start(128)),
    "gradient": Pair(_gradient, _of(lambda x, y: x.T * y.T, numbers(3, 5), numbers(3, 5))),
    "index32": Pair(_gather(8, 2**32 + 1), _gather(8, 0, 7, 3)),
    "index16": Pair(_gather(70_000, 69_999), _gather(65_536, 65_535, 0)),
    "int64": Pair(
        _of(lambda x: x + x, np.array([2**40 + 1])), _of(lambda x: x * x, np.array([-46_340]))
    ),
    "barrier": _twice(lambda x: x.sin() * x.cos(), 4),
    "accumulator": _twice(lambda x: x.sum(), 4),
    "bound": _twice(lambda x: x.sin(), 4),
    "numbers": Pair(_second_number, _of(lambda t: t * 3.0, numbers(4))),
    "reused": Pair(_of(_chain, numbers(8)), _eager(_chain, numbers(8))),
    "flag": Pair(_after_a_failure, _gather(8, 8)),
    "refuses": Pair(_raised(_of(vkml.erf, numbers(4))), _of(vkml.exp, numbers(4))),
}

"""`compile`: a function that is traced once for each kind of arguments and then replayed."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final, Generic, NamedTuple, ParamSpec, TypeVar

from vkml_core import graph, runtime
from vkml_core.compile.record import check, trace
from vkml_core.compile.signature import sign_all
from vkml_core.compile.step import Recorded
from vkml_core.errors import ArgumentError, ArgumentTypeError
from vkml_core.shapes import to_int
from vkml_core.tensor import Tensor

P = ParamSpec("P")
R = TypeVar("R")

_log: Final = logging.getLogger("vkml")


class CacheInfo(NamedTuple):
    """How often a compiled function was replayed and traced, and how many traces it keeps."""

    hits: int
    misses: int
    maxsize: int
    currsize: int


class Compiled(Generic[P, R]):
    """What `compile` gives: called like the function, with the same results."""

    def __init__(self, fn: Callable[P, R], maxsize: int) -> None:
        functools.update_wrapper(self, fn)
        self._name: Final[str] = getattr(fn, "__qualname__", repr(fn))
        self._fn = fn
        self._maxsize = maxsize
        self._steps: dict[Hashable, list[Recorded]] = {}
        self._calls = self._hits = self._misses = 0

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Replay the step, or trace it first."""
        if graph.tracing() is not None:
            return self._fn(*args, **kwargs)  # a part of another compiled step
        tensors: list[Tensor] = []
        signature: list[Hashable] = [graph.grad_enabled()]
        sign_all(args, kwargs, tensors, signature)
        key = tuple(signature)
        with runtime.lock:
            step = self._found(key)
            if step is None:
                step = self._traced(key, tensors, args, kwargs)
            self._calls += 1
            step.used = self._calls
            found: R = step.run(tensors)
            return found

    def __get__(self, owner: Any, kind: type | None = None) -> Compiled[..., R]:
        """Give the method of an object: each object has traces of its own."""
        if owner is None:
            return self
        held, key = vars(owner), f"compiled {self._name}"
        bound: Compiled[..., R] | None = held.get(key)
        if (
            bound is None or getattr(bound._fn, "__self__", None) is not owner
        ):  # that of a copied object
            bound = held[key] = Compiled(self._fn.__get__(owner, kind), self._maxsize)
        return bound

    def __deepcopy__(self, memo: dict[int, Any]) -> Compiled[P, R]:
        return self

    def cache_info(self) -> CacheInfo:
        """Count replays (hits) and traces (misses), and the traces that are kept."""
        kept = sum(map(len, self._steps.values()))
        return CacheInfo(self._hits, self._misses, self._maxsize, kept)

    def clear(self) -> None:
        """Forget all traces."""
        with runtime.lock:
            self._steps.clear()

    def _found(self, key: Hashable) -> Recorded | None:
        for step in self._steps.get(key, ()):
            if not step.is_current:
                self._drop_stale()
                return None
            if step.holds():
                self._hits += 1
                return step
        return None

    def _drop_stale(self) -> None:
        """Forget what was traced for a device as it was before it was opened anew."""
        for key, steps in list(self._steps.items()):
            self._steps[key] = [s for s in steps if s.is_current]

    def _traced(self, key: Hashable, tensors: Sequence[Tensor], args: Any, kwargs: Any) -> Recorded:
        if self._misses == 1:
            _log.info(
                "compile: %s is traced anew: other shapes, values or modes than before "
                "(this is told once)",
                self._name,
            )
        check(tensors)
        step = trace(self._fn, tensors, args, kwargs)
        step.holds()  # takes the values that are there now
        self._misses += 1
        self._make_room()
        self._steps.setdefault(key, []).insert(0, step)
        return step

    def _make_room(self) -> None:
        while self.cache_info().currsize >= self._maxsize:
            key, oldest = min(
                ((k, s) for k, steps in self._steps.items() for s in steps),
                key=lambda pair: pair[1].used,
            )
            self._steps[key].remove(oldest)
            if not self._steps[key]:
                del self._steps[key]
            _log.warning(
                "compile: %s has been traced for more than %d kinds of arguments; the one used "
                "least recently is forgotten: pass what changes at every call as a tensor, or "
                "raise maxsize",
                self._name,
                self._maxsize,
            )


def compile(fn: Callable[P, R], *, maxsize: int = 8) -> Compiled[P, R]:
    """Make one plan of everything that `fn` computes, and run that plan at later calls.

    The first call with arguments of some kind (structure, shapes, dtypes and devices of tensors;
    all else by value) runs `fn` lazily and records it: forward, backward, optimiser step,
    assignments of buffers. Later calls do not run `fn`: new arguments, the current values of
    parameters and state, and numbers such as the learning rate are handed to the plan, which
    overwrites parameters and state in place. The bits are those of `fn` itself.

    `fn` takes tensors and plain values in tuples, lists and dicts, and returns tensors in such.
    `maxsize` traces are kept; a notice goes to the logger "vkml". docs/compile.md tells what is
    noticed when it changes, and what is not. Raises CompileError (at a call) for what cannot be
    replayed, such as reading a value inside; then nothing has changed.

    >>> import vkml
    >>> w = vkml.tensor([1.0, 2.0], requires_grad=True)
    >>> @vkml.compile
    ... def step(x):
    ...     w.grad = None
    ...     loss = ((w - x) ** 2).sum()
    ...     loss.backward()
    ...     with vkml.no_grad():
    ...         w.assign_(w - 0.25 * w.grad)
    ...     return loss
    >>> [step(vkml.tensor([0.0, 0.0])).item() for _ in range(3)]
    [5.0, 1.25, 0.3125]
    >>> step.cache_info()
    CacheInfo(hits=2, misses=1, maxsize=8, currsize=1)
    """
    if not callable(fn):
        raise ArgumentTypeError(f"compile: expected a function, got {type(fn).__name__}")
    if to_int(maxsize, "compile: maxsize") < 1:
        raise ArgumentError(f"compile: maxsize must be ≥ 1, got {maxsize}")
    return Compiled(fn, maxsize)

"""Live numbers: numbers of a compiled step that may be others at its next call.

A live number is a float or an int with a `source`. Sums, differences, products, quotients and
powers with plain numbers are live too; comparing it is a decision that the step depends on. Put
through anything else (`math.sqrt`, `int()`) it is a plain number, and so a constant of the trace.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable
from typing import Any, Final, Protocol

from vkml_core.dtypes import Scalar


class Feed(Protocol):
    """Where live numbers come from, and what else a compiled step depends on: a generator, a
    counter, the options of an optimiser, the modes of modules.
    """

    def begin(self) -> None:
        """The trace is over: what is there now is what the step was traced for."""

    def holds(self) -> bool:
        """Read what is there now; tell whether all that was decided by it still holds."""

    def take(self) -> bool:
        """Make this call's numbers ready; tell whether they may be others than at the last."""

    def keep(self) -> None:
        """The call succeeded."""

    def give_back(self) -> None:
        """The call failed: be as before `take`."""


class Source:
    """Where a number comes from. Sources of equal `key` give equal numbers at every call."""

    __slots__ = ("evaluate", "feed", "key")

    def __init__(
        self,
        key: Hashable,
        evaluate: Callable[[], Scalar] | None = None,
        feed: Feed | None = None,
    ) -> None:
        self.key: Final = key
        self.evaluate: Final = evaluate
        """Gives the number now; None for a constant."""
        self.feed: Final = feed


class Decides(Protocol):
    """A feed that remembers what was decided by its numbers."""

    def decided(self, check: Callable[[], bool], outcome: bool) -> None:
        """Remember that the program went on by `check()` being `outcome`."""


def _arithmetic(name: str, function: Callable[[Any, Any], Any], swap: bool) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        plain = getattr(self.plain, name)(self, other)
        if plain is NotImplemented or isinstance(plain, complex):
            return plain
        mine: Source = self.source
        theirs = getattr(other, "source", None)
        if theirs is not None and theirs.feed is not mine.feed:
            return plain
        left: Callable[[], Any] = mine.evaluate  # type: ignore[assignment]
        right = (lambda: other) if theirs is None else theirs.evaluate
        if swap:
            left, right = right, left
        other_key = repr(other) if theirs is None else theirs.key
        key = (function.__name__, swap, mine.key, other_key)
        return live(plain, Source(key, lambda: function(left(), right()), mine.feed))

    return method


def _comparison(name: str, function: Callable[[Any, Any], bool]) -> Callable[..., Any]:
    def method(self: Any, other: Any) -> Any:
        outcome = getattr(self.plain, name)(self, other)
        source: Source = self.source
        feed: Any = source.feed
        if outcome is not NotImplemented and hasattr(feed, "decided"):
            now: Callable[[], Any] = source.evaluate  # type: ignore[assignment]
            there = getattr(getattr(other, "source", None), "evaluate", None)
            feed.decided(lambda: function(now(), other if there is None else there()), outcome)
        return outcome

    return method


def _negated(self: Any) -> Any:
    source: Source = self.source
    now: Callable[[], Any] = source.evaluate  # type: ignore[assignment]
    return live(-self.plain(self), Source(("neg", source.key), lambda: -now(), source.feed))


def _truth(self: Any) -> bool:
    outcome = self.plain(self) != 0
    source: Source = self.source
    feed: Any = source.feed
    if hasattr(feed, "decided"):
        now: Callable[[], Any] = source.evaluate  # type: ignore[assignment]
        feed.decided(lambda: bool(now()), outcome)
    return bool(outcome)


_ARITHMETIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "pow": operator.pow,
}
_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    name: getattr(operator, name) for name in ("lt", "le", "gt", "ge", "eq", "ne")
}


def _methods() -> dict[str, Any]:
    found: dict[str, Any] = {"__neg__": _negated, "__bool__": _truth}
    for name, function in _ARITHMETIC.items():
        for prefix, swap in (("", False), ("r", True)):
            method = f"__{prefix}{name}__"
            found[method] = _arithmetic(method, function, swap)
    for name, compare in _COMPARISONS.items():
        found[f"__{name}__"] = _comparison(f"__{name}__", compare)
    return found


class _Live:
    """What both kinds share: the type that a number is without its source."""

    plain: type
    source: Source


LiveFloat: Final = type(
    "LiveFloat", (_Live, float), {**_methods(), "plain": float, "__hash__": float.__hash__}
)
LiveInt: Final = type(
    "LiveInt", (_Live, int), {**_methods(), "plain": int, "__hash__": int.__hash__}
)


def live(value: Scalar, source: Source) -> Any:
    """Give a number that knows where it comes from."""
    made = (LiveFloat if isinstance(value, float) else LiveInt)(value)
    made.source = source
    return made

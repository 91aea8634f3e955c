"""What a compiled step depends on of an optimiser: options, which are live numbers, and state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from operator import is_, itemgetter
from typing import TYPE_CHECKING, Any, Final

from vkml_core.functional.execution import realize
from vkml_core.graph import Tracing
from vkml_core.live import Source, live
from vkml_core.tensor import Tensor
from vkml_optim.rule import STEP, Options, State

if TYPE_CHECKING:
    from vkml_optim.optimizer import Optimizer, Work

Record = Callable[[Sequence["Work"]], list[tuple[Tensor, State]]]
"""Records new values and changed states."""
_NOT_READ: Final = frozenset({"params", "initial_lr"})
_NUDGE: Final = 1.0 + 2.0**-10
"""Another value of an option is this times the value, to see where it goes."""


class OptionsFeed:
    """The options and the state of one optimiser in one step."""

    def __init__(self, optimizer: Optimizer) -> None:
        self._optimizer = optimizer
        self._groups: list[Options] = list(optimizer.param_groups)
        self._live: set[tuple[int, str]] = set()
        """Options by the number of their group and name."""
        self._checks: list[tuple[Callable[[], bool], bool]] = []
        self._changed = True
        self._names: list[tuple[str, ...]] = []
        self._reads: list[Callable[[Options], tuple[Any, ...]]] = []
        self._values: list[tuple[Any, ...]] = []
        self._sizes: list[int] = []
        self._params: list[list[Tensor]] = []
        self._states: list[Any] = []
        self._all: list[Tensor] = []

    # Recording.
    def decided(self, check: Callable[[], bool], outcome: bool) -> None:
        """Remember that the rule went on by an option."""
        self._checks.append((check, outcome))

    def record(
        self, ready: Sequence[Work], trace: Tracing, how: Record
    ) -> list[tuple[Tensor, State]]:
        """Record the update with live options.

        An option is live if another value of it changes no number of the update that is not live:
        else a rule puts it through what live numbers do not follow, and a change traces anew.
        """
        able = {
            (i, name)
            for i, group in enumerate(self._groups)
            for name, value in group.items()
            if type(value) is float and name not in _NOT_READ and (value or name == "lr")
        }
        if not self._follows(able, ready, trace, how):
            able = {one for one in able if self._follows({one}, ready, trace, how)}
        self._live |= able
        return how(self._works(ready, able))

    def _follows(
        self, some: set[tuple[int, str]], ready: Sequence[Work], trace: Tracing, how: Record
    ) -> bool:
        known, keys = len(self._checks), []
        for factor in (1.0, _NUDGE):
            with trace.numbers() as found:
                how(self._works(ready, some, factor))
            keys.append(found)
        del self._checks[known:]
        return keys[0] == keys[1]

    def _works(
        self, ready: Sequence[Work], some: set[tuple[int, str]], factor: float = 1.0
    ) -> list[Work]:
        options = {
            id(group): {
                name: self._number(i, name, factor) if (i, name) in some else value
                for name, value in group.items()
            }
            for i, group in enumerate(self._groups)
        }
        return [work._replace(group=options[id(work.group)]) for work in ready]

    def _number(self, i: int, name: str, factor: float) -> Any:
        group = self._groups[i]
        source = Source((id(self), i, name), lambda: group[name], self)
        value = group[name] * factor if group[name] else factor - 1.0
        return live(value, source)

    # Replaying.
    def begin(self) -> None:
        """Remember options and state as they are now."""
        self._names = [tuple(k for k in g if k not in _NOT_READ) for g in self._groups]
        self._reads = [itemgetter(*names) for names in self._names]
        self._values = [read(g) for read, g in zip(self._reads, self._groups, strict=True)]
        self._sizes = [len(g) for g in self._groups]
        self._params = [list(g["params"]) for g in self._groups]
        self._all = [p for params in self._params for p in params]
        self._states = [self._optimizer.state.get(p) for p in self._all]

    def holds(self) -> bool:
        """Whether groups, parameters, state, and what options decided are as they were."""
        groups = self._optimizer.param_groups
        if len(groups) != len(self._groups) or not all(map(is_, groups, self._groups)):
            return False
        for group, params, size in zip(groups, self._params, self._sizes, strict=True):
            held = group["params"]
            if len(group) != size or len(held) != len(params) or not all(map(is_, held, params)):
                return False
        try:
            values = [read(group) for read, group in zip(self._reads, groups, strict=True)]
        except KeyError:
            return False
        states = map(self._optimizer.state.get, self._all)
        if not all(map(is_, states, self._states)) and not self._same_state():
            return False
        return values == self._values or self._still_decided(values)

    def _same_state(self) -> bool:
        """Whether the state is the same tensors, though in other dicts."""
        states = [self._optimizer.state.get(p) for p in self._all]
        for now, known in zip(states, self._states, strict=True):
            if (now is None) != (known is None) or (now or {}).keys() != (known or {}).keys():
                return False
            if now is not None and not all(now[k] is known[k] for k in now):
                return False
        self._states = states
        return True

    def _still_decided(self, values: list[tuple[Any, ...]]) -> bool:
        """Whether changed options are live numbers, and would decide the same."""
        for i, (names, new, old) in enumerate(zip(self._names, values, self._values, strict=True)):
            for name, now, before in zip(names, new, old, strict=True):
                if now != before and not ((i, name) in self._live and isinstance(now, float)):
                    return False
        if any(check() != outcome for check, outcome in self._checks):
            return False
        self._values, self._changed = values, True
        return True

    def take(self) -> bool:
        """Whether an option has changed since the last call."""
        changed, self._changed = self._changed, False
        return changed

    def keep(self) -> None:
        """There is nothing to count."""

    def give_back(self) -> None:
        """The numbers are worked out anew."""
        self._changed = True


def feed_of(optimizer: Optimizer, trace: Tracing) -> OptionsFeed:
    """Give the feed of an optimiser in a step that is being compiled."""
    feed: Any = trace.feed((OptionsFeed, id(optimizer)), lambda: OptionsFeed(optimizer))
    found: OptionsFeed = feed
    return found


def settle(optimizer: Optimizer, ready: Sequence[Work], trace: Tracing) -> None:
    """Make the state that a step starts from before it is recorded, as if from outside.

    New state is computed, and those that step without others get a count of their own.
    """
    before = dict(optimizer.state)
    stepping = {id(work.param) for work in ready}
    idle = {id(kept[STEP]) for p, kept in before.items() if id(p) not in stepping and STEP in kept}
    made: list[Tensor] = []
    counts: dict[int, Tensor] = {}
    with trace.outside():
        for work in ready:
            made += _split(work.state, idle, counts)
            kept = before.get(work.param, {})
            made += [t for name, t in work.state.items() if kept.get(name) is not t]
        realize(*made)
    trace.keeps(made)
    trace.undo(lambda: _put(optimizer.state, before))
    for work in ready:
        if work.state:
            optimizer.state[work.param] = dict(work.state)


def _split(state: State, idle: set[int], counts: dict[int, Tensor]) -> Iterator[Tensor]:
    if STEP in state and id(state[STEP]) in idle:
        old = state[STEP]
        if id(old) not in counts:
            counts[id(old)] = old.detach()
        state[STEP] = counts[id(old)]
        yield counts[id(old)]


def _put(state: dict[Tensor, State], before: dict[Tensor, State]) -> None:
    state.clear()
    state.update(before)

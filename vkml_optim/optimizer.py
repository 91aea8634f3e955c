"""Optimizer: parameters in groups, the state of each, and the step that updates them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

from vkml_core.dtypes import float32
from vkml_core.errors import ArgumentTypeError
from vkml_core.functional.creation import zeros_like
from vkml_core.functional.execution import assign
from vkml_core.graph import enable_grad, no_grad, tracing
from vkml_core.spans import Phase, span
from vkml_core.tensor import Tensor
from vkml_optim import replay, state
from vkml_optim.counts import Advance, advance
from vkml_optim.options import REQUIRED, Option, checked
from vkml_optim.params import checked_params, listed
from vkml_optim.rule import STEP, Options, Rule, Shared, State


class Work(NamedTuple):
    """A parameter, its gradient, its group, and its state from before the step."""

    param: Tensor
    grad: Tensor
    group: Options
    state: State


class Optimizer:
    """Base class of optimisers; a subclass names its rule and its options.

    `params` is an iterable of tensors, or of dicts with "params" and options of their own.
    `step` is lazy: its assignments join the next submission. Options may be changed in
    `param_groups` between steps without making a new plan. State has the parameter's dtype; the
    update is worked out in float32 and rounded to it once.
    """

    rule: ClassVar[Rule]
    options: ClassVar[Mapping[str, Option]]

    def __init__(self, params: Iterable[Any], options: Options) -> None:
        given = listed(params, self._name)
        known = {k: o.default for k, o in self.options.items() if o.default is not REQUIRED}
        self.defaults = checked(self.options, known | options, self._name)
        self.param_groups: list[Options] = []
        self.state: dict[Tensor, State] = {}
        for group in given if isinstance(given[0], Mapping) else [{"params": given}]:
            self.add_param_group(group)

    @property
    def _name(self) -> str:
        return type(self).__name__

    def check(self, options: Options, what: str) -> None:
        """Raise ArgumentError for options that make no sense together."""

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Add parameters with options of their own; what is left out is as for the others."""
        if not isinstance(group, Mapping) or "params" not in group:
            raise ArgumentTypeError(f"{self._name}: a group is a dict with 'params', got {group!r}")
        known = {id(p) for other in self.param_groups for p in other["params"]}
        params = checked_params(group["params"], known, self._name)
        own = {k: v for k, v in group.items() if k != "params"}
        options = checked(self.options, self.defaults | own, self._name)
        self.check(options, self._name)
        self.param_groups.append({"params": params, **options})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient, and its state, in one go.

        A closure computes the loss and its gradients first; its result is given back.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with span(Phase.RECORD), no_grad():
            self._update()
        return loss

    def _update(self) -> None:
        """Work out all new values, assign them, and only then keep what is new in the state."""
        ready = self._ready()
        trace = tracing()
        if trace is not None:
            replay.settle(self, ready, trace)
        counts = self._advance(ready)
        record = partial(self._values, counts=counts)
        if trace is None:
            news = record(ready)
        else:
            news = replay.feed_of(self, trace).record(ready, trace, record)
        dests, values = [a.held for a in counts.values()], [a.number for a in counts.values()]
        for work, (new, changed) in zip(ready, news, strict=True):
            dests += [work.param, *(work.state[k] for k in changed)]
            values += [new, *changed.values()]
        assign(dests, values)
        for work in ready:
            if work.state:
                own = {STEP: counts[id(work.state[STEP])].held} if counts else {}
                self.state[work.param] = work.state | own

    def _values(
        self, ready: Sequence[Work], counts: dict[int, Advance]
    ) -> list[tuple[Tensor, State]]:
        """Record every parameter's new value, and the state that changes."""
        common: dict[tuple[int, int], Shared] = {}
        return [self._updated(work, counts, common) for work in ready]

    def _ready(self) -> list[Work]:
        """List what has a gradient. New parameters on one device share one count."""
        starts: dict[str, Tensor] = {}
        ready = []
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    whole = self._whole_state(p, group)
                    if STEP in whole and STEP not in self.state.get(p, {}):
                        whole[STEP] = starts.setdefault(p.device, whole[STEP])
                    ready.append(Work(p, p.grad, group, whole))
        return ready

    def _whole_state(self, param: Tensor, group: Options) -> State:
        """Give a parameter's state, with zeros for what its options newly ask for."""
        kept = self.state.get(param, {})
        if all(name in kept for name in self.rule.names(group)):
            return kept
        return self.rule.init(param, group) | kept

    def _advance(self, ready: list[Work]) -> dict[int, Advance]:
        if STEP not in self.rule.state:
            return {}
        stepping = {id(work.param) for work in ready}
        idle = [s for p, s in self.state.items() if id(p) not in stepping]
        return advance([work.state for work in ready], idle)

    def _updated(
        self, work: Work, counts: dict[int, Advance], common: dict[tuple[int, int], Shared]
    ) -> tuple[Tensor, State]:
        """Give a parameter's new value and the state that changes, worked out in float32."""
        param, _, group, kept = work
        shared: Shared = ()
        if counts:
            key = id(kept[STEP]), id(group)
            if key not in common:
                common[key] = self.rule.share(counts[key[0]].number, group)
            shared = common[key]
        wide = {k: t.to(float32) for k, t in kept.items()}
        grad = -work.grad if group.get("maximize") else work.grad
        return self.rule.update(grad.to(float32), wide, param.to(float32), group, shared)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                p.grad = None if set_to_none or p.grad is None else zeros_like(p.grad)

    def state_dict(self) -> dict[str, Any]:
        """Give state and options in PyTorch's layout: parameters are numbered through.

        The tensors keep their values when training goes on. Nothing is computed here.
        """
        whole = {
            p: self._whole_state(p, group)
            for group in self.param_groups
            for p in group["params"]
            if self.state.get(p)
        }
        return state.layout(self.param_groups, whole)

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take state and options, as `state_dict` gives them here or in PyTorch; arrays do too.

        Tensors are copied to the parameters' devices. An ArgumentError or ArgumentTypeError says
        what does not fit, and then nothing has been changed.
        """
        self.param_groups, self.state = state.load(self, state_dict)

    def __repr__(self) -> str:
        lines = [f"{self._name} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines += [f"    {k}: {group[k]}" for k in sorted(group) if k != "params"]
        return "\n".join([*lines, ")"])

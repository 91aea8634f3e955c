"""Optimizer: parameters in groups, the state of each, and the step that updates them all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Protocol

from vkml_core.errors import ArgumentError, ArgumentTypeError
from vkml_core.functional.creation import tensor, zeros_like
from vkml_core.functional.execution import assign
from vkml_core.graph import no_grad
from vkml_core.tensor import Tensor

Options = dict[str, Any]
State = dict[str, Tensor]


class Rule(Protocol):
    """The mathematics of an optimiser: two pure functions of tensors and options."""

    def init(self, param: Tensor, options: Options) -> State:
        """Give the state that a parameter starts with."""

    def update(
        self, grad: Tensor, state: State, param: Tensor, options: Options
    ) -> tuple[Tensor, State]:
        """Give the parameter's new value and the new state."""


class Optimizer:
    """Base class of optimisers; a subclass names its rule and checks its options.

    `params` is an iterable of tensors, or of dicts with "params" and options of their own.
    `step` is lazy: its assignments join the next submission. Options may be changed in
    `param_groups` between steps without making a new plan.
    """

    rule: ClassVar[Rule]

    def __init__(self, params: Iterable[Any], defaults: Options) -> None:
        if isinstance(params, Tensor):
            raise ArgumentTypeError(f"{self._name}: expected an iterable of parameters: [tensor]")
        self.defaults = defaults
        self.param_groups: list[Options] = []
        self.state: dict[Tensor, State] = {}
        given = list(params)
        if not given:
            raise ArgumentError(f"{self._name}: the parameter list is empty")
        for group in given if isinstance(given[0], Mapping) else [{"params": given}]:
            self.add_param_group(group)

    @property
    def _name(self) -> str:
        return type(self).__name__

    def check(self, options: Options) -> None:
        """Raise ArgumentError for options that make no sense."""
        raise NotImplementedError

    def add_param_group(self, group: Mapping[str, Any]) -> None:
        """Add parameters with options of their own; what is left out is as for the others."""
        if not isinstance(group, Mapping) or "params" not in group:
            raise ArgumentTypeError(f"{self._name}: a group is a dict with 'params', got {group!r}")
        params = group["params"]
        tensors = [params] if isinstance(params, Tensor) else list(params)
        self._check_params(tensors)
        options = {k: v for k, v in group.items() if k != "params"}
        unknown = sorted(options.keys() - self.defaults.keys())
        if unknown:
            raise ArgumentError(f"{self._name}: has no option {unknown[0]!r}")
        options = self.defaults | options
        self.check(options)
        self.param_groups.append({"params": tensors, **options})

    def _check_params(self, tensors: list[Any]) -> None:
        if not tensors:
            raise ArgumentError(f"{self._name}: the parameter list is empty")
        seen = {id(p) for group in self.param_groups for p in group["params"]}
        for i, p in enumerate(tensors):
            if not isinstance(p, Tensor):
                got = type(p).__name__
                raise ArgumentTypeError(
                    f"{self._name}: parameter {i}: expected a Tensor, got {got}"
                )
            if not p.requires_grad:
                raise ArgumentError(f"{self._name}: parameter {i} does not require a gradient")
            if not p.is_leaf:
                raise ArgumentError(f"{self._name}: parameter {i} is not a leaf but a result")
            if id(p) in seen:
                raise ArgumentError(f"{self._name}: parameter {i} is there twice")
            seen.add(id(p))

    def step(self) -> None:
        """Update every parameter that has a gradient, and its state, in one go."""
        dests: list[Tensor] = []
        values: list[Tensor] = []
        with no_grad():
            for group in self.param_groups:
                for p in group["params"]:
                    if p.grad is None:
                        continue
                    if not self.state.get(p):
                        self.state[p] = self.rule.init(p, group)
                    state = self.state[p]
                    new, new_state = self.rule.update(p.grad, state, p, group)
                    dests += [p, *(state[k] for k in new_state)]
                    values += [new, *new_state.values()]
            assign(dests, values)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                p.grad = None if set_to_none or p.grad is None else zeros_like(p.grad)

    def state_dict(self) -> dict[str, Any]:
        """Give state and options in PyTorch's layout: parameters are numbered through."""
        params = [p for group in self.param_groups for p in group["params"]]
        number = {id(p): i for i, p in enumerate(params)}
        return {
            "state": {
                number[id(p)]: {k: t.detach() for k, t in self.state[p].items()}
                for p in params
                if self.state.get(p)
            },
            "param_groups": [
                {**group, "params": [number[id(p)] for p in group["params"]]}
                for group in self.param_groups
            ],
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take state and options (as `state_dict` gives them, or PyTorch's); arrays do too.

        An ArgumentError says what does not fit, and then nothing has been changed.
        """
        groups = self._loaded_groups(state_dict["param_groups"])
        order = [i for group in state_dict["param_groups"] for i in group["params"]]
        params = [p for group in self.param_groups for p in group["params"]]
        state = {
            p: self._loaded_state(p, state_dict["state"][i], f"parameter {i}")
            for i, p in zip(order, params, strict=True)
            if i in state_dict["state"]
        }
        self.param_groups, self.state = groups, state

    def _loaded_groups(self, given: list[Options]) -> list[Options]:
        sizes = [[len(g["params"]) for g in groups] for groups in (given, self.param_groups)]
        if sizes[0] != sizes[1]:
            raise ArgumentError(
                f"load_state_dict: groups of {sizes[0]} parameters, expected {sizes[1]}"
            )
        loaded = []
        for theirs, ours in zip(given, self.param_groups, strict=True):
            extra = {k: v for k, v in theirs.items() if k not in ours and v}
            if extra:
                raise ArgumentError(f"load_state_dict: {self._name} has no options {extra}")
            options = {k: theirs.get(k, v) for k, v in ours.items() if k != "params"}
            self.check(options)
            loaded.append({"params": ours["params"], **options})
        return loaded

    def _loaded_state(self, param: Tensor, given: Mapping[str, Any], what: str) -> State:
        loaded = {k: v for k, v in given.items() if v is not None}
        for k, v in loaded.items():
            if tuple(v.shape) != param.shape:
                raise ArgumentError(
                    f"load_state_dict: {what}: {k} has shape {tuple(v.shape)}, "
                    f"expected {param.shape}"
                )
        return {k: tensor(v, dtype=param.dtype, device=param.device) for k, v in loaded.items()}

"""What an optimiser holds, in PyTorch's layout: giving it out and taking it in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from vkml_core.dtypes import float32
from vkml_core.errors import ArgumentError, ArgumentTypeError
from vkml_core.functional.creation import tensor
from vkml_core.functional.execution import realize
from vkml_core.tensor import Tensor
from vkml_optim import counts
from vkml_optim.options import DROPPED, checked
from vkml_optim.rule import STEP, Options, State

if TYPE_CHECKING:
    from vkml_optim.optimizer import Optimizer

WHAT: Final = "load_state_dict"
LARGEST_COUNT: Final = 2**24
"""From here on float32 does not count by ones."""


def layout(groups: Sequence[Options], states: Mapping[Tensor, State]) -> dict[str, Any]:
    """Number the parameters through; a tensor that several share stays one."""
    params = [p for group in groups for p in group["params"]]
    number = {id(p): i for i, p in enumerate(params)}
    once = {id(t): t.detach() for kept in states.values() for t in kept.values()}
    return {
        "state": {
            number[id(p)]: {k: once[id(t)] for k, t in kept.items()} for p, kept in states.items()
        },
        "param_groups": [
            {**_options(group), "params": [number[id(p)] for p in group["params"]]}
            for group in groups
        ],
    }


def load(optimizer: Optimizer, given: object) -> tuple[list[Options], dict[Tensor, State]]:
    """Give the groups and the state that `given` describes; the optimiser is not changed."""
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(f"{WHAT}: expected a dict, got {type(given).__name__}")
    for name, kind in (("state", Mapping), ("param_groups", Sequence)):
        if not isinstance(given.get(name), kind):
            got = type(given.get(name)).__name__
            raise ArgumentTypeError(f"{WHAT}: {name!r}: expected a {kind.__name__}, got {got}")
    groups = _groups(optimizer, given["param_groups"])
    order = [i for group in given["param_groups"] for i in group["params"]]
    known = set(order)
    unknown = [i for i in given["state"] if i not in known]
    if unknown or len(known) != len(order):
        why = f"no group has parameter {unknown[0]!r}" if unknown else f"numbers repeat: {order}"
        raise ArgumentError(f"{WHAT}: {why}")
    places = [(p, group) for group in groups for p in group["params"]]
    found = {
        p: _checked(optimizer, group, p, given["state"][i], f"{WHAT}: state[{i!r}]")
        for i, (p, group) in zip(order, places, strict=True)
        if i in given["state"]
    }
    return groups, _made({p: values for p, values in found.items() if values})


def _options(group: Options) -> Options:
    return {k: v for k, v in group.items() if k != "params"}


def _groups(optimizer: Optimizer, given: Sequence[Any]) -> list[Options]:
    for i, group in enumerate(given):
        params = group.get("params") if isinstance(group, Mapping) else None
        if not isinstance(params, list | tuple) or not all(isinstance(n, int) for n in params):
            what = f"{WHAT}: param_groups[{i}]"
            raise ArgumentTypeError(f"{what}: expected a dict with 'params', a list of ints")
    sizes = [[len(g["params"]) for g in groups] for groups in (given, optimizer.param_groups)]
    if sizes[0] != sizes[1]:
        raise ArgumentError(f"{WHAT}: groups of {sizes[0]} parameters, expected {sizes[1]}")
    loaded = []
    for i, (theirs, ours) in enumerate(zip(given, optimizer.param_groups, strict=True)):
        what = f"{WHAT}: param_groups[{i}]: {type(optimizer).__name__}"
        options = {k: v for k, v in _options(theirs).items() if k not in DROPPED}
        options = checked(optimizer.options, options, what)
        optimizer.check(options, what)
        loaded.append({"params": ours["params"], **options})
    return loaded


def _checked(
    optimizer: Optimizer, group: Options, param: Tensor, given: object, what: str
) -> dict[str, Any]:
    """Check names, kinds and shapes; nothing at all means a parameter that never stepped."""
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(f"{what}: expected a dict, got {type(given).__name__}")
    values = {k: _numbers(v, f"{what}: {k}") for k, v in given.items() if v is not None}
    if not values:
        return {}
    name = type(optimizer).__name__
    for k in values:
        if k not in optimizer.rule.state:
            raise ArgumentError(f"{what}: {name} has no state {k!r}")
    for k in optimizer.rule.names(group):
        if k not in values:
            raise ArgumentError(f"{what}: lacks {k!r}, which {name} needs")
    for k, v in values.items():
        wanted = () if k == STEP else param.shape
        if tuple(v.shape) != wanted:
            raise ArgumentError(f"{what}: {k} has shape {tuple(v.shape)}, expected {wanted}")
    return {k: values[k] for k in optimizer.rule.state if k in values}


def _numbers(value: object, what: str) -> Any:
    """Give a tensor as it is, anything else as an array of numbers."""
    if isinstance(value, Tensor):
        kind = value.dtype.numpy.kind
    else:
        try:
            value = np.asarray(value)
        except (TypeError, ValueError, RuntimeError) as error:
            raise ArgumentTypeError(f"{what}: not an array: {error}") from None
        kind = value.dtype.kind
    if kind not in "iuf":
        raise ArgumentTypeError(f"{what}: expected numbers, got {value.dtype}")
    return value


def _made(found: Mapping[Tensor, Mapping[str, Any]]) -> dict[Tensor, State]:
    """Make the tensors, compute them in one go, and share equal counts."""
    states = {
        p: {k: _like(v, p, float32 if k == STEP else p.dtype) for k, v in values.items()}
        for p, values in found.items()
    }
    realize(*(t for kept in states.values() for t in kept.values()))
    for kept in states.values():
        count = kept[STEP].item() if STEP in kept else 0.0
        if not (0 <= count <= LARGEST_COUNT and count == int(count)):
            raise ArgumentError(f"{WHAT}: {STEP}: expected a whole number ≥ 0, got {count}")
    counts.shared(states.values())
    return states


def _like(value: Any, param: Tensor, dtype: Any) -> Tensor:
    """Give a value as a tensor of its own on the parameter's device; a Tensor is not read."""
    if isinstance(value, Tensor):
        return value.detach().to(dtype=dtype, device=param.device)
    return tensor(value, dtype=dtype, device=param.device)

"""What a module holds, by name: giving it out, taking it in, moving it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from vkml_core.dtypes import to_dtype
from vkml_core.errors import ArgumentError, ArgumentTypeError, DTypeError
from vkml_core.functional.creation import tensor
from vkml_core.functional.execution import assign
from vkml_core.graph import no_grad
from vkml_core.tensor import Tensor

if TYPE_CHECKING:
    from vkml_nn.module import Module


class IncompatibleKeys(NamedTuple):
    """Names that were missing from, or not expected in, a loaded state."""

    missing_keys: list[str]
    unexpected_keys: list[str]


def join(path: str, name: str) -> str:
    """Put a name behind the dotted path of its module."""
    return f"{path}.{name}" if path else name


def named_state(module: Module, prefix: str = "") -> Iterator[tuple[str, Tensor]]:
    """Give parameters, then persistent buffers, then the children's; shared ones each time."""
    kept = {k: b for k, b in module._buffers.items() if k not in module._transient}
    for name, value in (*module._parameters.items(), *kept.items()):
        if value is not None:
            yield join(prefix, name), value
    for name, child in module._modules.items():
        if child is not None:
            yield from named_state(child, join(prefix, name))


def load(module: Module, given: Mapping[str, Any], strict: bool) -> IncompatibleKeys:
    """Check everything, then assign everything."""
    if not isinstance(given, Mapping):
        raise ArgumentTypeError(f"load_state_dict: expected a dict, got {type(given).__name__}")
    have = dict(named_state(module))
    values = {k: v if isinstance(v, Tensor) else np.asarray(v) for k, v in given.items()}
    both = [k for k in have if k in values]
    missing, unexpected = [k for k in have if k not in values], [k for k in values if k not in have]
    problems = {
        "missing keys": missing if strict else [],
        "unexpected keys": unexpected if strict else [],
        "wrong shapes": [
            f"{k} (got {tuple(values[k].shape)}, expected {have[k].shape})"
            for k in both
            if tuple(values[k].shape) != have[k].shape
        ],
    }
    told = [f"{what}: {', '.join(names)}" for what, names in problems.items() if names]
    if told:
        name = type(module).__name__
        raise ArgumentError(f"load_state_dict: does not fit {name}: {'; '.join(told)}")
    with no_grad():
        assign([have[k] for k in both], [_source(values[k], have[k]) for k in both])
    return IncompatibleKeys(missing, unexpected)


def _source(value: Any, like: Tensor) -> Tensor:
    if isinstance(value, Tensor):
        return value.detach().to(device=like.device)
    return tensor(value, device=like.device)


def move(held: Sequence[Tensor], target: Any) -> None:
    """Make tensors, and their gradients, stand for copies on a device or of a dtype.

    A dtype concerns the floating-point ones only.
    """
    try:
        dtype = to_dtype(target)
    except DTypeError:
        dtype = None
    if dtype is not None and not dtype.is_floating_point:
        raise DTypeError(f"Module.to: expected a floating-point dtype, got {dtype.name}")
    chosen = [t for t in held if dtype is None or t.dtype.is_floating_point]
    with no_grad():
        moved = [(t, t.to(target).realize(), t.grad, t.requires_grad) for t in chosen]
        for t, value, gradient, needed in moved:
            t.grad = None
            t.adopt(value.node, needed)
            t.grad = None if gradient is None else gradient.to(target)

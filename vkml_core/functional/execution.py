"""Conversion between dtypes and devices, and when and where things are computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vkml_core import autograd, graph, runtime
from vkml_core.dtypes import to_dtype
from vkml_core.errors import ArgumentError, ArgumentTypeError, DTypeError, GradientError
from vkml_core.functional.common import stop, tensor_arg
from vkml_core.functional.creation import convert, device_name, upload
from vkml_core.graph import build
from vkml_core.plan import Plan
from vkml_core.public import public
from vkml_core.tensor import Tensor, fit, seed_gradient


def _many(op: str, tensors: object) -> list[Tensor]:
    if isinstance(tensors, Tensor):
        return [tensors]
    if not isinstance(tensors, Sequence) or isinstance(tensors, str):
        raise ArgumentTypeError(f"{op}: expected tensors, got {type(tensors).__name__}")
    return [tensor_arg(t, f"{op}: tensor {i}") for i, t in enumerate(tensors)]


@public(method=False)
def realize(*tensors: Tensor) -> None:
    """Compute tensors now, all that are on one device in a single submission."""
    found = [t for group in tensors for t in _many("realize", group)]
    runtime.realize([t.node for t in found])


@public(method=False)
def plan(*tensors: Tensor) -> Plan:
    """Give the plan that `realize(*tensors)` would run; print it to read it.

    >>> import vkml
    >>> x = vkml.tensor([1.0, 2.0])
    >>> [step.calls[0].op for step in vkml.plan((x * x).sum()).steps]
    ['mul', 'sum']
    """
    found = [t for group in tensors for t in _many("plan", group)]
    if not found:
        raise ArgumentError("plan: expected at least one tensor")
    return runtime.plan_of([t.node for t in found])


@public(method=False)
def assign(dests: Sequence[Tensor] | Tensor, srcs: Sequence[Tensor] | Tensor) -> None:
    """Give each destination the value that its source has now, so that two can be swapped.

    All are checked before any is changed.
    """
    to, values = _many("assign", dests), _many("assign", srcs)
    if len(to) != len(values):
        raise ArgumentError(f"assign: {len(to)} destinations and {len(values)} sources")
    for d, s in zip(to, values, strict=True):
        fit(s, d)
        if d.requires_grad and (graph.grad_enabled() or not d.is_leaf):
            raise GradientError("assign: a destination requires a gradient; use vkml.no_grad()")
    now = [stop(s) for s in values]
    for d, s in zip(to, now, strict=True):
        d.assign_(s)


@public(method=False)
def backward(tensor: Tensor, gradient: Tensor | None = None) -> None:
    """Add d(tensor)/d(leaf) to the `.grad` of every leaf with requires_grad."""
    tensor_arg(tensor, "backward: tensor").backward(gradient)


@public(method=False)
def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
) -> tuple[Tensor | None, ...]:
    """Give the gradients of the sum of `outputs` with respect to `inputs`; no `.grad` changes.

    With `create_graph` the result can be differentiated again, any number of times.

    >>> import vkml
    >>> x = vkml.tensor(3.0, requires_grad=True)
    >>> (first,) = vkml.grad(x**3, x, create_graph=True)
    >>> (second,) = vkml.grad(first, x)
    >>> first.item(), second.item()
    (27.0, 18.0)
    """
    outs, ins = _many("grad", outputs), _many("grad", inputs)
    if isinstance(grad_outputs, Tensor) or grad_outputs is None:
        seeds: list[Tensor | None] = [grad_outputs] * len(outs)
    elif isinstance(grad_outputs, Sequence):
        seeds = list(grad_outputs)
    else:
        raise ArgumentTypeError(f"grad: grad_outputs: expected tensors, got {grad_outputs!r}")
    if len(seeds) != len(outs):
        raise ArgumentError(f"grad: {len(outs)} outputs and {len(seeds)} grad_outputs")
    for i, t in enumerate(ins):
        if not t.requires_grad:
            raise GradientError(f"grad: input {i} does not require a gradient")
    with graph.enable_grad() if create_graph else graph.no_grad():
        starts = [(o.node, seed_gradient(o, s)) for o, s in zip(outs, seeds, strict=True)]
        totals = autograd.gradients(starts, [t.node for t in ins])
    found = [totals.get(t.node.serial) for t in ins]
    if None in found and not allow_unused:
        raise GradientError(
            f"grad: input {found.index(None)} was not used for the outputs; "
            "pass allow_unused=True to get None for it"
        )
    nodes = [n for n in found if n is not None]
    if runtime.is_eager():
        runtime.realize(nodes)
    return tuple(None if n is None else Tensor(n) for n in found)


@public()
def to(input: Tensor, target: Any = None, *, dtype: Any = None, device: Any = None) -> Tensor:
    """Convert to a dtype, or copy to a device; gives the tensor itself if nothing changes."""
    x = tensor_arg(input, "to: input")
    if target is not None:
        if _is_dtype(target):
            dtype = target
        else:
            device = target
    if dtype is not None:
        x = convert(x, to_dtype(dtype))
    if device is None or (name := device_name(device)) == x.device:
        return x
    if x.requires_grad and graph.grad_enabled():
        raise GradientError(
            "to: a copy to another device cannot be differentiated, since one graph runs on one "
            "device; use .detach().to(device), or vkml.no_grad()"
        )
    return upload(x.numpy(), x.dtype, name)


def _is_dtype(value: Any) -> bool:
    """Whether `to`'s target is a dtype: everything is but a string that names none."""
    if not isinstance(value, str):
        return True
    try:
        to_dtype(value)
    except DTypeError:
        return False
    return True


@public()
def astype(input: Tensor, dtype: Any) -> Tensor:
    """Convert to a dtype."""
    return convert(tensor_arg(input, "astype: input"), to_dtype(dtype))


@public(method=False, name="detach")
def detach_(input: Tensor) -> Tensor:
    """Give the same values without their history; nothing is computed."""
    return Tensor(build.detach(tensor_arg(input, "detach: input").node))

"""Recording: a step is run once, lazily, and everything that it changed is put back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from vkml_core import graph, runtime
from vkml_core.compile.bind import bind
from vkml_core.compile.signature import GRADIENT, HISTORY, Packer, packer, rebuild
from vkml_core.compile.step import Recorded
from vkml_core.compile.trace import Trace
from vkml_core.compile.watch import watched
from vkml_core.errors import ArgumentError
from vkml_core.graph import Storage, data
from vkml_core.tensor import Tensor


def check(tensors: Sequence[Tensor]) -> None:
    """Refuse arguments whose gradients a replay could not follow."""
    for i, t in enumerate(tensors):
        if not (graph.grad_enabled() and t.requires_grad):
            continue
        flag = HISTORY if t.node.owner is None else GRADIENT if t._grad is not None else 0
        if flag == HISTORY:
            raise ArgumentError(
                f"compile: tensor {i} of the arguments has a history, which no gradient of a "
                "compiled step can follow: pass x.detach(), or compute it in the step"
            )
        if flag == GRADIENT:
            raise ArgumentError(
                f"compile: tensor {i} of the arguments already has a gradient: set x.grad = None"
            )


def trace(fn: Callable[..., Any], tensors: Sequence[Tensor], args: Any, kwargs: Any) -> Recorded:
    """Run `fn` lazily and record it. Nothing is computed, and what it changed is put back.

    If it raises, everything that vkml knows of is as before.
    """
    start = graph.next_serial()
    arguments = [_stand_in(t) for t in tensors]
    found = Trace(start, arguments)
    given = iter(arguments)
    inputs = [rebuild(v, given) for v in args]
    named = {k: rebuild(v, given) for k, v in kwargs.items()}
    try:
        results, pack = _recorded(found, lambda: fn(*inputs, **named))
        found.check_arguments(tensors)
        step = bind(found, results, pack)
    except BaseException:
        found.put_back()
        found.fail()
        raise
    found.put_back()
    for feed in found.feeds.values():
        feed.begin()
    return step


def _recorded(found: Trace, run: Callable[[], Any]) -> tuple[list[Tensor], Packer]:
    """Run the step; what was refused is raised even where the step made something else of it."""
    results: list[Tensor] = []
    try:
        with watched(), runtime.eager_mode(False):
            graph.set_tracing(found)
            try:
                pack = packer(run(), results)
            finally:
                graph.set_tracing(None)
    except Exception as error:
        if found.wrong is not None and error is not found.wrong:
            raise found.wrong from error
        raise
    if found.wrong is not None:
        raise found.wrong
    return results, pack


def _stand_in(tensor: Tensor) -> Tensor:
    """Give a tensor of its own for an argument, so that it is not taken for one from outside."""
    runtime.realize([tensor.node])
    node = tensor.node
    assert node.storage is not None
    storage = Storage(node.storage.buffer, node.storage.device)
    made = Tensor(data(storage, node.shape, node.dtype, node.device))
    if node.requires_grad and node.owner is not None:
        made.adopt(made.node, requires_grad=True)
    return made

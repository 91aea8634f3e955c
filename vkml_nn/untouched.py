"""Running a module's forward pass for its shapes only, and putting everything back afterwards."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from vkml_core.functional.random import get_rng_state, set_rng_state
from vkml_core.graph import no_grad
from vkml_core.runtime import eager_mode
from vkml_core.tensor import Tensor

if TYPE_CHECKING:
    from vkml_nn.module import Module


class _Kept:
    """The attributes of an object, what its lists, dicts and sets hold, and its tensors' values."""

    def __init__(self, owner: object) -> None:
        self.owner = owner
        self.attributes = dict(vars(owner))
        held = list(self.attributes.values())
        self.containers = [(c, c.copy()) for c in held if type(c) in (list, dict, set)]
        inside = [t for c, _ in self.containers for t in (c.values() if type(c) is dict else c)]
        self.tensors = [(t, t.node, t.grad) for t in (*held, *inside) if isinstance(t, Tensor)]

    def restore(self) -> None:
        """Put everything back."""
        for tensor, node, grad in self.tensors:
            tensor.restore(node)
            tensor.grad = grad
        for container, before in self.containers:
            container.clear()
            (container.extend if type(container) is list else container.update)(before)
        vars(self.owner).clear()
        vars(self.owner).update(self.attributes)


@contextmanager
def untouched(module: Module) -> Iterator[None]:
    """Inside, the module evaluates lazily and without gradients; afterwards it is as it was.

    That is so after an error too, and holds for modes, attributes, hooks, parameters, buffers,
    counters and the common generator.
    """
    kept: list[_Kept] = []
    for m in module.modules():
        kept += [_Kept(owner) for owner in (m, m._pre_hooks, m._hooks)]
    random = get_rng_state()
    try:
        with no_grad(), eager_mode(False):
            module.eval()
            yield
    finally:
        for owner in kept:
            owner.restore()
        set_rng_state(random)

"""Which tensors a step takes from outside: while one is traced, reading a tensor's node is noted.

The graph knows values only. So that a later call finds the value that a tensor stands for then,
the trace has to know which tensor each value was taken from, and only here is that told.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

from vkml_core import graph
from vkml_core.graph import Node
from vkml_core.tensor import Tensor

if TYPE_CHECKING:
    from vkml_core.compile.trace import Trace

_SLOT: Final[Any] = vars(Tensor)["node"]
"""The slot itself, as it is while nothing is traced."""
_lock: Final = threading.Lock()
_watching = 0


class _Watched:
    """Stands for the slot: tells the trace of the thread that reads, if it has one."""

    def __get__(self, tensor: Tensor | None, owner: type | None = None) -> Any:
        if tensor is None:
            return self
        node: Node = _SLOT.__get__(tensor, owner)
        trace = graph.tracing()
        return node if trace is None else cast("Trace", trace).seen(tensor, node)

    def __set__(self, tensor: Tensor, node: Node) -> None:
        _SLOT.__set__(tensor, node)


@contextmanager
def watched() -> Iterator[None]:
    """Inside, traces hear of the nodes that are read. Several threads may be inside."""
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def _count(change: int) -> None:
    global _watching
    with _lock:
        _watching += change
        # Set on the class: tensors are read far too often to look for a trace each time.
        type.__setattr__(Tensor, "node", _Watched() if _watching else _SLOT)

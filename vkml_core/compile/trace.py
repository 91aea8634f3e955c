"""Trace: what one run of a step takes from outside, changes there, and depends on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, NoReturn

from vkml_core import graph, runtime
from vkml_core.dtypes import DType, Scalar
from vkml_core.errors import CompileError
from vkml_core.graph import Node, data, pending_inputs, reachable
from vkml_core.live import Feed, Source
from vkml_core.tensor import Tensor

READ_ADVICE: Final = (
    "return the tensor and read it after the call, choose with vkml.where, or leave that part "
    "out of the compiled step"
)


@dataclass(slots=True)
class Gradient:
    """What a step does with the gradient of a tensor from outside."""

    tensor: Tensor
    entry: Tensor | None
    """The gradient from before the step."""
    read: bool = False
    """Whether the step saw it, or added to it."""


class Trace:
    """Collects; what it finds is in its attributes. It fulfils `vkml_core.graph.Tracing`."""

    def __init__(self, start: int, arguments: Sequence[Tensor]) -> None:
        """`arguments` stand for those of the step; they and all it makes are newer than `start`."""
        self.start: Final = start
        self._stand_ins: Final = arguments
        self._collected: Final = [t.requires_grad for t in arguments]
        self.arguments: Final = {id(t): i for i, t in enumerate(arguments)}
        self.given: Final = {id(t.node.storage): i for i, t in enumerate(arguments)}
        """Arguments by the storage of their leaves, which nothing else has."""
        self.wrong: CompileError | None = None
        """What was refused first; the step may have gone on all the same."""
        self.tensors: Final[dict[int, tuple[Tensor, Node]]] = {}
        """Tensors from outside by id, with what they stood for."""
        self.leaves: Final[dict[int, Tensor]] = {}
        """The same by the serial of that leaf."""
        self.changed: Final[dict[int, Tensor]] = {}
        """What was assigned to, by id."""
        self.gradients: Final[dict[int, Gradient]] = {}
        self.feeds: Final[dict[Hashable, Feed]] = {}
        self.constants: list[Hashable] | None = None
        """Keys of all numbers, while somebody wants to compare them."""
        self._undo: Final[list[Callable[[], object]]] = []

    # What graph.Tracing asks for.
    def number(self, value: Scalar, stored: Scalar, dtype: DType) -> Source:
        """Give where a number comes from: its source if it is live, else it is a constant."""
        source = getattr(value, "source", None)
        if not isinstance(source, Source):
            source = Source(("constant", repr(stored)))
        if self.constants is not None:
            self.constants.append(source.key)
        return source

    def read(self, nodes: Sequence[Node]) -> None:
        """Refuse values that depend on arguments, tensors from outside, or live numbers."""
        for node in reachable(nodes, pending_inputs):
            live = node.source is not None and node.source.evaluate is not None
            if live or id(node.storage) in self.given or node.serial in self.leaves:
                wanted = nodes[0]
                self._fail(
                    f"the step reads the value of a tensor, {wanted.dtype.name}{wanted.shape} "
                    f"from {wanted.op.name}, which will be another one at the next call: what "
                    f"Python does with it would not be done again; {READ_ADVICE}"
                )

    def seen(self, tensor: Tensor, node: Node) -> Node:
        """Note a tensor whose node is read; one from outside is computed first."""
        if node.serial >= self.start or id(tensor) in self.tensors:
            return node
        with self.outside():
            if node.storage is None:
                runtime.realize([node])
            if node.serial in self.leaves and (not node.requires_grad or node.owner is None):
                node = self._own_leaf(tensor, node)
        self.tensors[id(tensor)] = tensor, node
        self.leaves.setdefault(node.serial, tensor)
        return node

    def is_own(self, tensor: Tensor) -> bool:
        """Whether the step made a tensor itself."""
        own = id(tensor) not in self.tensors and id(tensor) not in self.arguments
        return own and tensor.node.serial > self.start

    @staticmethod
    def _own_leaf(tensor: Tensor, node: Node) -> Node:
        """Tell two tensors apart that stand for one node: one may be assigned to."""
        assert node.storage is not None
        if not node.requires_grad:
            tensor.node = data(node.storage, node.shape, node.dtype, node.device)
        return tensor.node

    def assigned(self, tensor: Tensor) -> None:
        """Note what is assigned to; the trace sees it computed as the last step of all."""
        self.changed[id(tensor)] = tensor

    def adopts(self, tensor: Tensor) -> None:
        """Refuse that a tensor from outside becomes another leaf."""
        if id(tensor) not in self.arguments and not self.is_own(tensor):
            self.refuse("requires_grad_() or Module.to()", "do it before the step or after it")

    def reads_gradient(self, tensor: Tensor) -> None:
        """Note that what the step does depends on the gradient from before."""
        if id(tensor) not in self.gradients:
            self.gradients[id(tensor)] = Gradient(tensor, tensor._grad, read=True)

    def sets_gradient(self, tensor: Tensor) -> None:
        """Note a gradient that is replaced, perhaps without having been looked at."""
        if id(tensor) not in self.gradients:
            self.gradients[id(tensor)] = Gradient(tensor, tensor._grad)

    def feed(self, key: Hashable, make: Callable[[], Feed]) -> Feed:
        """Give the feed of that key, made when it is first asked for."""
        if key not in self.feeds:
            self.feeds[key] = make()
        return self.feeds[key]

    def refuse(self, what: str, advice: str) -> None:
        """Raise CompileError: this cannot be part of a step."""
        self._fail(f"{what} inside a compiled step; {advice}")

    def _fail(self, why: str) -> NoReturn:
        error = CompileError(f"compile: {why}")
        self.wrong = self.wrong or error
        raise error

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Inside, what this thread does is not part of the step."""
        before = graph.tracing()
        graph.set_tracing(None)
        try:
            yield
        finally:
            graph.set_tracing(before)

    def keeps(self, tensors: Iterable[Tensor]) -> None:
        """Take tensors that the step made, and that are computed, for tensors from outside."""
        with self.outside():
            for t in tensors:
                self.tensors.setdefault(id(t), (t, t.node))
                self.leaves.setdefault(self.tensors[id(t)][1].serial, t)

    @contextmanager
    def numbers(self) -> Iterator[list[Hashable]]:
        """Give a list that has, afterwards, the key of every number recorded inside."""
        found: list[Hashable] = []
        self.constants = found
        try:
            yield found
        finally:
            self.constants = None

    def undo(self, how: Callable[[], object]) -> None:
        """Call `how` if the step cannot be traced, the last one first."""
        self._undo.append(how)

    # How it ends.
    def required(self) -> list[tuple[int, bool]]:
        """List the arguments of which the step began or ended to collect gradients."""
        return [
            (i, t.requires_grad)
            for i, (t, before) in enumerate(zip(self._stand_ins, self._collected, strict=True))
            if t.requires_grad != before
        ]

    def check_arguments(self, given: Sequence[Tensor]) -> None:
        """Refuse an argument that the step also changes from outside, or two that are one."""
        changed = {self.arguments[k] for k in self.changed if k in self.arguments}
        for i, t in enumerate(given):
            twice = any(t is given[k] and k != i for k in changed)
            if twice or (id(t) in self.changed and id(t) in self.tensors):
                raise CompileError(
                    f"compile: tensor {i} of the arguments is changed by the step, which also "
                    "has it from elsewhere: give it to the step once, or take it from outside only"
                )

    def put_back(self) -> None:
        """Give every tensor from outside the value and the gradient from before the step."""
        for tensor, node in self.tensors.values():
            tensor.node = node
        for g in self.gradients.values():
            g.tensor._grad = g.entry

    def fail(self) -> None:
        """Undo what `put_back` does not."""
        while self._undo:
            self._undo.pop()()

"""The lazy graph: nodes, how they are built, and iterative walks over them.

A node is immutable but for one thing: once it has been computed it carries its storage, and if no
gradient can flow through it any more it forgets its inputs, so that memory is freed.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol
from weakref import ref

from pydantic import ValidationError

from vkml_core import spans
from vkml_core.dtypes import DType, Scalar, check_scalar
from vkml_core.errors import ArgumentTypeError, DeviceError, DTypeError
from vkml_core.live import Feed, Source
from vkml_core.ops.spec import REGISTRY, OpSpec
from vkml_core.shapes import Shape

if TYPE_CHECKING:
    from vkml_core.backend import Buffer, Device
    from vkml_core.tensor import Tensor

_serials: Final = itertools.count()


class Tracing(Protocol):
    """What a step that is being compiled is told of (`vkml_core.compile.trace`)."""

    def number(self, value: Scalar, stored: Scalar, dtype: DType) -> Source:
        """Give where a number of the program comes from."""

    def read(self, nodes: Sequence[Node]) -> None:
        """Values are wanted now: raise CompileError if they depend on what the step is given."""

    def assigned(self, tensor: Tensor) -> None:
        """A tensor was given a new value."""

    def adopts(self, tensor: Tensor) -> None:
        """A tensor is about to become another leaf: raise CompileError if it is not the step's."""

    def reads_gradient(self, tensor: Tensor) -> None:
        """The gradient of a tensor was looked at, or is about to be added to."""

    def sets_gradient(self, tensor: Tensor) -> None:
        """The gradient of a tensor is about to be replaced."""

    def feed(self, key: Hashable, make: Callable[[], Feed]) -> Feed:
        """Give the source of changing numbers of that key, made when it is first asked for."""

    def refuse(self, what: str, advice: str) -> None:
        """Raise CompileError: this cannot be part of a step."""

    def outside(self) -> AbstractContextManager[None]:
        """Inside, what is recorded is not part of the step."""

    def keeps(self, tensors: Iterable[Tensor]) -> None:
        """Tensors made by the step, already computed, are state from now on."""

    def numbers(self) -> AbstractContextManager[list[Hashable]]:
        """Give a list that has, afterwards, the key of every number recorded inside."""

    def undo(self, how: Callable[[], object]) -> None:
        """Call `how` if the step cannot be traced."""


class _Mode(threading.local):
    grad = True
    trace: Tracing | None = None


_mode: Final = _Mode()


def tracing() -> Tracing | None:
    """Give the trace of the step that this thread is compiling, or None."""
    return _mode.trace


def set_tracing(trace: Tracing | None) -> None:
    """Tell what this thread records to a trace, or to nobody."""
    _mode.trace = trace


def next_serial() -> int:
    """Give a number that is above the serials of all nodes so far, and below those to come."""
    return next(_serials)


def grad_enabled() -> bool:
    """Whether new nodes record that they can be differentiated."""
    return _mode.grad


@contextmanager
def no_grad() -> Iterator[None]:
    """Inside, results do not require a gradient. Works as a context manager and a decorator."""
    before, _mode.grad = _mode.grad, False
    try:
        yield
    finally:
        _mode.grad = before


@contextmanager
def enable_grad() -> Iterator[None]:
    """Inside, results require a gradient where an input does."""
    before, _mode.grad = _mode.grad, True
    try:
        yield
    finally:
        _mode.grad = before


class Storage:
    """A node's computed value: a contiguous buffer and the opened device that holds it."""

    __slots__ = ("__weakref__", "buffer", "device")

    def __init__(self, buffer: Buffer, device: Device) -> None:
        self.buffer = buffer
        self.device = device


class Node:
    """One value of the graph: an operation, its inputs and attributes, shape, dtype, device.

    `serial` grows in program order, so sorting by it is a topological order. `owner` is set on
    the leaves of autograd: the tensor that collects the gradient. `source` is where the number of
    a `full` leaf comes from, in a step that is being compiled.
    """

    __slots__ = (
        "__weakref__",
        "attrs",
        "device",
        "dtype",
        "inputs",
        "op",
        "owner",
        "requires_grad",
        "serial",
        "shape",
        "source",
        "storage",
        "value",
    )

    def __init__(
        self,
        op: OpSpec,
        inputs: tuple[Node, ...],
        attrs: Any,
        shape: Shape,
        dtype: DType,
        device: str,
        *,
        requires_grad: bool = False,
        value: Scalar | None = None,
        storage: Storage | None = None,
    ) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.shape = shape
        self.dtype = dtype
        self.device = device
        self.requires_grad = requires_grad
        self.value = value
        self.storage = storage
        self.source: Source | None = None
        self.owner: ref[Tensor] | None = None
        self.serial = next(_serials)

    def settle(self, storage: Storage) -> None:
        """Keep the computed value; drop the history unless a gradient may still walk it."""
        self.storage = storage
        if not self.requires_grad or self.owner is not None:
            self.op, self.inputs, self.attrs = REGISTRY["data"], (), None

    def __add__(self, other: Node | Scalar) -> Node:
        return apply(REGISTRY["add"], (self, _operand(self, other)))

    def __sub__(self, other: Node | Scalar) -> Node:
        return apply(REGISTRY["sub"], (self, _operand(self, other)))

    def __mul__(self, other: Node | Scalar) -> Node:
        return apply(REGISTRY["mul"], (self, _operand(self, other)))

    def __truediv__(self, other: Node | Scalar) -> Node:
        return apply(REGISTRY["div"], (self, _operand(self, other)))

    def __neg__(self) -> Node:
        return apply(REGISTRY["neg"], (self,))

    def __repr__(self) -> str:
        args = ", ".join(f"%{i.serial}" for i in self.inputs)
        attrs = "" if self.attrs is None else f" {self.attrs}"
        return f"%{self.serial} = {self.op.name}({args}){attrs} : {self.dtype.name}{self.shape}"


def _operand(like: Node, value: Node | Scalar) -> Node:
    return value if isinstance(value, Node) else full(like.shape, value, like.dtype, like.device)


def full(shape: Shape, value: Scalar, dtype: DType, device: str) -> Node:
    """Make a leaf whose every element is `value`, which is an input of the plan, never baked."""
    stored = check_scalar(value, dtype)
    node = Node(REGISTRY["full"], (), None, shape, dtype, device, value=stored)
    if _mode.trace is not None:
        node.source = _mode.trace.number(value, stored, dtype)
    return node


def const(like: Node, value: Scalar) -> Node:
    """Make a `full` leaf with the shape, dtype and device of `like`."""
    return full(like.shape, value, like.dtype, like.device)


def data(storage: Storage, shape: Shape, dtype: DType, device: str) -> Node:
    """Make a leaf from its value on the device of that name."""
    return Node(REGISTRY["data"], (), None, shape, dtype, device, storage=storage)


def apply(spec: OpSpec, inputs: tuple[Node, ...], attrs: Any = None) -> Node:
    """Record one operation. Inputs must be on one device and of dtypes that the row takes."""
    collector = spans.active
    depth = 0 if collector is None else collector.enter(spans.Phase.RECORD)
    try:
        device = inputs[0].device
        for other in inputs:
            if other.device != device:
                raise DeviceError(
                    f"{spec.name}: inputs are on {device} and {other.device}; "
                    "one graph runs on one device, move one of them with .to(device)"
                )
        if inputs[0].dtype not in spec.dtypes:
            takes = ", ".join(sorted(t.name for t in spec.dtypes))
            raise DTypeError(
                f"{spec.name}: does not take {inputs[0].dtype.name}; it takes {takes}, "
                "convert with .to(dtype)"
            )
        shape, dtype = spec.infer(inputs, attrs)
        needs = (
            _mode.grad
            and dtype.is_floating_point
            and spec.differentiable
            and any(i.requires_grad for i in inputs)
        )
        return Node(spec, inputs, attrs, shape, dtype, device, requires_grad=needs)
    finally:
        if collector is not None:
            collector.leave(depth)


class _Build:
    """`build.name(*inputs, **attributes)` records the operation called `name`."""

    def __getattr__(self, name: str) -> Callable[..., Node]:
        if name.startswith("__"):  # what Python's own tools look for
            raise AttributeError(name)
        spec = REGISTRY[name]

        def call(*inputs: Node, **attrs: Any) -> Node:
            if spec.arity is not None and len(inputs) != spec.arity:
                raise ArgumentTypeError(f"{name}: takes {spec.arity} inputs, got {len(inputs)}")
            return apply(spec, inputs, make_attrs(spec, attrs))

        setattr(self, name, call)
        return call


build: Final = _Build()


def make_attrs(spec: OpSpec, attrs: dict[str, Any]) -> Any:
    """Build and validate the attributes of an operation."""
    if spec.attrs is None and not attrs:
        return None
    if spec.attrs is None:
        raise ArgumentTypeError(f"{spec.name}: takes no attributes, got {sorted(attrs)}")
    try:
        return spec.attrs(**attrs)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors())
        raise ArgumentTypeError(f"{spec.name}: {wrong}") from None


def reachable(
    roots: Iterable[Node], follow: Callable[[Node], Sequence[Node]] = lambda n: n.inputs
) -> list[Node]:
    """List every node that `follow` reaches from `roots`, in program order (topological)."""
    seen: dict[int, Node] = {}
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node.serial not in seen:
            seen[node.serial] = node
            stack.extend(follow(node))
    return [seen[k] for k in sorted(seen)]


def pending_inputs(node: Node) -> tuple[Node, ...]:
    """Give what must be computed before `node`: nothing if it already has its value."""
    return () if node.storage is not None else node.inputs


def show(roots: Sequence[Node]) -> str:
    """Print the graph of `roots`, a line a node."""
    return "\n".join(repr(n) for n in reachable(roots, pending_inputs))

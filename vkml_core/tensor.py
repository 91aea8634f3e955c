"""Tensor: a handle on a node of the graph. Operations are added to it from the public table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, cast
from weakref import ref

import numpy as np
import numpy.typing as npt

from vkml_core import autograd, graph, runtime, spans
from vkml_core.device import device as Device
from vkml_core.dtypes import DType, Scalar
from vkml_core.errors import ArgumentTypeError, DeviceError, DTypeError, GradientError, ShapeError
from vkml_core.graph import Node, build, grad_enabled
from vkml_core.repr import tensor_repr
from vkml_core.shapes import Shape, View, size
from vkml_core.views import view_of

if TYPE_CHECKING:
    from vkml_core.typed_methods import Methods
else:

    class Methods:
        """What `vkml_core.methods` installs; type checkers see the stub."""

        __slots__ = ()


class Tensor(Methods):
    """An n-dimensional array, n ≤ 4, on one device.

    Tensors come from the creation functions (`vkml.tensor`, `vkml.zeros`, …) and from operations;
    the class is not called directly. A tensor is a value: only `assign_`, `+=` and the like change
    what a handle stands for, and no other handle sees it.

    >>> import vkml
    >>> x = vkml.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__weakref__", "_grad", "_spent", "node")

    __array_ufunc__ = None  # NumPy arrays on the left leave the operation to us
    __hash__ = object.__hash__

    node: Node
    _grad: Tensor | None
    _spent: bool

    def __init__(self, node: Node) -> None:
        if not isinstance(node, Node):
            raise ArgumentTypeError("Tensor: make tensors with vkml.tensor(data)")
        self.node = node
        self._grad = None
        self._spent = False

    # What it is.
    @property
    def shape(self) -> Shape:
        """Sizes of the dimensions."""
        return self.node.shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.node.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return size(self.node.shape)

    def numel(self) -> int:
        """Count the elements."""
        return size(self.node.shape)

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self.node.dtype

    @property
    def device(self) -> Device:
        """The device it is on; equal to its canonical name."""
        return Device(self.node.device)

    @property
    def _view(self) -> View:
        return view_of(self.node)

    @property
    def strides(self) -> tuple[int, ...]:
        """Steps, in elements, between neighbours along each dimension."""
        return self._view.strides

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements lie in row-major order without gaps."""
        return self._view.is_contiguous

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to or through it."""
        return self.node.requires_grad

    @property
    def is_leaf(self) -> bool:
        """Whether it was not computed from tensors that require a gradient."""
        return not self.node.requires_grad or self.node.owner is not None

    def defined(self) -> bool:
        """Whether the handle holds a value: always true here; kept for ported code."""
        return True

    @property
    def T(self) -> Tensor:
        """The dimensions in reverse order."""
        return self.permute(tuple(reversed(range(self.ndim))))

    # Gradients.
    @property
    def grad(self) -> Tensor | None:
        """The gradient that `backward` has summed up here, or None."""
        trace = graph.tracing()
        if trace is not None:
            trace.reads_gradient(self)
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is not None and not isinstance(value, Tensor):
            raise ArgumentTypeError(f"grad: expected a Tensor or None, got {type(value).__name__}")
        if value is not None and (value.shape, value.dtype) != (self.shape, self.dtype):
            raise ShapeError(
                f"grad: got {value.dtype.name}{value.shape}, expected {self.dtype.name}{self.shape}"
            )
        trace = graph.tracing()
        if trace is not None:
            trace.sets_gradient(self)
        self._grad = value

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Start (or stop) collecting gradients in this leaf; gives the tensor itself."""
        if not isinstance(requires_grad, bool | np.bool_):
            raise ArgumentTypeError(f"requires_grad: expected True or False, got {requires_grad!r}")
        if requires_grad and not self.dtype.is_floating_point:
            raise DTypeError(
                f"requires_grad: only floating-point tensors have gradients, got {self.dtype.name}"
            )
        if not self.is_leaf:
            raise GradientError("requires_grad_: only leaves can be changed; use detach() first")
        if requires_grad != self.node.requires_grad:
            self.adopt(self.node, requires_grad)
        return self

    def adopt(self, node: Node, requires_grad: bool) -> None:
        """Stand for `node` from now on, as a leaf of autograd."""
        trace = graph.tracing()
        if trace is not None:
            trace.adopts(self)
        with graph.no_grad():
            leaf = build.detach(node)
        if node.storage is not None:
            leaf.settle(node.storage)
        leaf.requires_grad = requires_grad
        leaf.owner = ref(self) if requires_grad else None
        self.node = leaf

    def restore(self, node: Node) -> None:
        """Stand for an earlier node again: an assignment failed."""
        self.node = node

    def detach(self) -> Tensor:
        """Give the same values without their history; nothing is computed."""
        return Tensor(build.detach(self.node))

    def backward(self, gradient: Tensor | None = None, retain_graph: bool = False) -> None:
        """Add d(self)/d(leaf) to the `.grad` of every leaf with requires_grad.

        `gradient` has this tensor's shape and may be left out for one element. Afterwards the
        history is dropped unless `retain_graph`.
        """
        with spans.span(spans.Phase.RECORD):
            backward([self], [gradient])
        if not retain_graph and self.node.owner is None:
            self.node = build.detach(self.node)
            self._spent = True
        runtime.register_output(self)

    # Reading.
    def realize(self) -> Tensor:
        """Compute the value now; gives the tensor itself."""
        runtime.realize([self.node])
        return self

    def numpy(self) -> npt.NDArray[Any]:
        """Copy the value into a NumPy array."""
        self.realize()
        storage = self.node.storage
        assert storage is not None
        with spans.span(spans.Phase.READ):
            return storage.device.download(storage.buffer, self.shape, self.dtype)

    def item(self) -> Scalar:
        """Give the value of a one-element tensor as a Python number."""
        if self.size != 1:
            raise ShapeError(f"item: shape {self.shape} has {self.size} elements, expected one")
        return cast(Scalar, self.numpy().item())

    def tolist(self) -> Any:
        """Give the value as nested Python lists (a number for rank 0)."""
        return self.numpy().tolist()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ShapeError("__array__: a tensor's value is copied to the host; copy=False fails")
        array = self.numpy()
        return array if dtype is None else array.astype(dtype)

    def __dlpack__(self, **kwargs: Any) -> Any:
        return self.numpy().__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)  # kDLCPU: what is handed out is always a copy on the host

    def __len__(self) -> int:
        if not self.shape:
            raise ArgumentTypeError("len: a rank-0 tensor has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self.shape:
            raise ArgumentTypeError("iter: a rank-0 tensor cannot be iterated")
        return (self[i] for i in range(self.shape[0]))

    def _one(self, what: str) -> Scalar:
        if self.size != 1:
            raise ShapeError(f"{what}: shape {self.shape} has {self.size} elements, expected one")
        return self.item()

    def __bool__(self) -> bool:
        return bool(self._one("bool"))

    def __float__(self) -> float:
        return float(self._one("float"))

    def __int__(self) -> int:
        return int(self._one("int"))

    def __index__(self) -> int:
        if self.dtype.category == "float":
            raise ArgumentTypeError(f"index: expected an integer tensor, got {self.dtype.name}")
        return int(self._one("index"))

    def __repr__(self) -> str:
        return tensor_repr(self)

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if spec and self.size == 1 else format(repr(self), spec)

    def __reduce__(self) -> Any:
        raise ArgumentTypeError("pickle: tensors are saved with vkml.save, not with pickle")

    def __copy__(self) -> Tensor:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if not self.is_leaf:
            raise GradientError("deepcopy: only leaves can be copied; use detach() first")
        copy = Tensor(self.node)
        copy.adopt(self.node, self.requires_grad)
        memo[id(self)] = copy
        return copy

    # Changing what the handle stands for.
    def assign_(self, src: Tensor | Scalar) -> Tensor:
        """Take the value of `src`, broadcast and converted; joins the next submission."""
        if self.node.requires_grad and (grad_enabled() or self.node.owner is None):
            raise GradientError(
                "assign_: the tensor requires a gradient; change leaves inside vkml.no_grad()"
            )
        value = fit(src, self)
        before, leaf = self.node, self.node.owner is not None
        with graph.no_grad():
            node = build.assign(before, value)
        node.requires_grad, node.owner = leaf, ref(self) if leaf else None
        runtime.register_assignment(self, before)
        self.node = node
        if runtime.is_eager():
            self.realize()
        return self


def fit(src: object, dest: Tensor) -> Node:
    """Turn `src` into a node of `dest`'s shape, dtype and device."""
    if not isinstance(src, Tensor):
        if not isinstance(src, bool | int | float | np.bool_ | np.integer | np.floating):
            got = type(src).__name__
            raise ArgumentTypeError(f"assign: expected a Tensor or a number, got {got}")
        return graph.const(dest.node, src.item() if isinstance(src, np.generic) else src)
    node, like = src.node, dest.node
    if node.device != like.device:
        raise DeviceError(
            f"assign: the source is on {node.device}, the tensor on {like.device}; "
            "move the source with .to(device)"
        )
    if node.dtype is not like.dtype:
        node = build.cast(node, dtype=like.dtype)
    return node if node.shape == like.shape else build.expand(node, shape=like.shape)


def seed_gradient(output: Tensor, gradient: Tensor | None) -> Node:
    """Check an output of a differentiation and give the gradient that it starts from."""
    if not isinstance(output, Tensor):
        raise ArgumentTypeError(f"backward: expected a Tensor, got {type(output).__name__}")
    if output._spent:
        raise GradientError(
            "backward: the history was dropped by an earlier backward(); "
            "call that one with retain_graph=True"
        )
    if not output.requires_grad:
        why = autograd.why_no_gradient(output.node)
        raise GradientError(f"backward: the tensor does not require a gradient: {why}")
    if gradient is None:
        if output.size != 1:
            raise ShapeError(
                f"backward: a gradient can be left out only for one element, got shape "
                f"{output.shape}; reduce with .sum() or pass gradient="
            )
        return graph.const(output.node, 1.0)
    if not isinstance(gradient, Tensor):
        raise ArgumentTypeError(f"backward: gradient: got {type(gradient).__name__}, not a Tensor")
    if gradient.shape != output.shape:
        raise ShapeError(
            f"backward: gradient has shape {gradient.shape}, the tensor {output.shape}"
        )
    return fit(gradient, output)


def backward(outputs: list[Tensor], seeds: list[Tensor | None]) -> None:
    """Add to the `.grad` of every leaf that `outputs` depend on."""
    with graph.no_grad():
        starts = [(o.node, seed_gradient(o, s)) for o, s in zip(outputs, seeds, strict=True)]
        totals = autograd.gradients(starts)
        leaves = graph.reachable([o.node for o in outputs], autograd.history)
        collected = [Tensor(totals[n.serial]) for n in leaves if n.serial in totals]
        owners = [n.owner() for n in leaves if n.serial in totals and n.owner is not None]
        trace = graph.tracing()
        for owner, new in zip(owners, collected, strict=True):
            if owner is not None:
                if trace is not None:
                    trace.reads_gradient(owner)
                owner._grad = new if owner._grad is None else owner._grad + new
        if runtime.is_eager():
            runtime.realize([o._grad.node for o in owners if o is not None and o._grad is not None])

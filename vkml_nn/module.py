"""Module: the base class of layers and models, with PyTorch's names and order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Self, TypeVar

from vkml_core.dtypes import float32
from vkml_core.errors import UnsupportedOpError
from vkml_core.functional.creation import zeros_like
from vkml_core.graph import tracing
from vkml_core.spans import Phase, span
from vkml_core.tensor import Tensor
from vkml_nn import random_state, state
from vkml_nn.hooks import Hook, Hooks, RemovableHandle
from vkml_nn.members import Members
from vkml_nn.parameter import Parameter
from vkml_nn.replay import visit
from vkml_nn.summary import Summary, summarise

T = TypeVar("T")


def _undefined(self: Module, *args: Any, **kwargs: Any) -> Any:
    raise UnsupportedOpError(f"{type(self).__name__}: forward() is not defined; define it")


class Module(Members):
    """Base class of layers and models: subclass it, call `super().__init__()`, define `forward`.

    Parameters and modules assigned to attributes, and registered buffers, are found by
    `parameters()`, `state_dict()` and the rest.

    >>> from vkml import nn
    >>> class Model(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.linear = nn.Linear(2, 1)
    ...
    ...     def forward(self, x):
    ...         return self.linear(x)
    >>> list(Model().state_dict())
    ['linear.weight', 'linear.bias']
    """

    forward: Callable[..., Any] = _undefined
    training: bool

    def __init__(self) -> None:
        super().__init__()
        self.training = True
        self._pre_hooks = Hooks()
        self._hooks = Hooks()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the hooks around forward()."""
        trace = tracing()
        if trace is not None:
            visit(trace, self)
        with span(Phase.RECORD):
            inputs = self._pre_hooks.fold(args, self._call_pre_hook)
            output = self.forward(*inputs, **kwargs)
            return self._hooks.fold(output, lambda hook, value: hook(self, inputs, value))

    def _call_pre_hook(self, hook: Hook, args: tuple[Any, ...]) -> tuple[Any, ...] | None:
        changed = hook(self, args)
        return changed if changed is None or isinstance(changed, tuple) else (changed,)

    # Walking.
    def named_modules(self, prefix: str = "") -> Iterator[tuple[str, Module]]:
        """Give this module and all below it, each once, with their dotted names."""
        seen: set[int] = set()
        stack: list[tuple[str, Module]] = [(prefix, self)]
        while stack:
            path, module = stack.pop()
            if id(module) not in seen:
                seen.add(id(module))
                yield path, module
                children = reversed(list(module.named_children()))
                stack.extend((state.join(path, name), child) for name, child in children)

    def modules(self) -> Iterator[Module]:
        """Give this module and all below it, each once."""
        return (module for _, module in self.named_modules())

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """Give the modules right below this one, each once, with their names."""
        return self._members(lambda m: m._modules, "", False)

    def children(self) -> Iterator[Module]:
        """Give the modules right below this one, each once."""
        return (module for _, module in self.named_children())

    def named_parameters(
        self, prefix: str = "", recurse: bool = True
    ) -> Iterator[tuple[str, Parameter]]:
        """Give the parameters, each once, with their dotted names."""
        return self._members(lambda m: m._parameters, prefix, recurse)

    def parameters(self, recurse: bool = True) -> Iterator[Parameter]:
        """Give the parameters, each once."""
        return (p for _, p in self.named_parameters(recurse=recurse))

    def named_buffers(self, prefix: str = "", recurse: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Give the buffers, each once, with their dotted names."""
        return self._members(lambda m: m._buffers, prefix, recurse)

    def buffers(self, recurse: bool = True) -> Iterator[Tensor]:
        """Give the buffers, each once."""
        return (b for _, b in self.named_buffers(recurse=recurse))

    def _members(
        self, table: Callable[[Module], Mapping[str, T | None]], prefix: str, recurse: bool
    ) -> Iterator[tuple[str, T]]:
        seen: set[int] = set()
        for path, module in self.named_modules(prefix) if recurse else [(prefix, self)]:
            for name, member in table(module).items():
                if member is not None and id(member) not in seen:
                    seen.add(id(member))
                    yield state.join(path, name), member

    def apply(self, fn: Callable[[Module], object]) -> Self:
        """Call `fn` on every module below this one and then on itself."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    # State.
    def state_dict(self) -> dict[str, Tensor]:
        """Give the values of parameters and persistent buffers by PyTorch's names, in its order.

        The tensors keep these values when training goes on.
        """
        return {name: t.detach() for name, t in state.named_state(self)}

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True
    ) -> state.IncompatibleKeys:
        """Take values (tensors or arrays) by name; gives the names that did not match.

        Wrong shapes, and if `strict` missing and unexpected names, are told in one ArgumentError;
        then nothing has been changed.
        """
        return state.load(self, state_dict, strict)

    def random_state(self) -> dict[str, int]:
        """Give the number of calls so far of each Dropout with a seed of its own, by dotted name.

        With `vkml.get_rng_state()` it is all that random modules remember: plain ints for JSON.
        """
        return random_state.give(self)

    def load_random_state(self, state: Mapping[str, int]) -> None:
        """Take what `random_state` gave: the masks go on as they would have.

        Missing and unexpected names are told in one ArgumentError; then nothing has been changed.
        """
        random_state.load(self, state)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or set them to zeros."""
        for p in self.parameters():
            p.grad = None if set_to_none or p.grad is None else zeros_like(p.grad)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Start or stop collecting gradients in all parameters."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def to(self, target: Any) -> Self:
        """Move everything to a device, or convert all floating-point tensors to a dtype."""
        state.move([*self.parameters(), *self.buffers()], target)
        return self

    # Modes.
    def train(self, mode: bool = True) -> Self:
        """Put this module and all below it into training (or evaluation) mode."""
        for module in self.modules():
            module.training = bool(mode)
        return self

    def eval(self) -> Self:
        """Put this module and all below it into evaluation mode."""
        return self.train(False)

    # Hooks.
    def register_forward_pre_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, args)` before each forward; its result, if any, replaces args."""
        return self._pre_hooks.add(hook)

    def register_forward_hook(self, hook: Hook) -> RemovableHandle:
        """Call `hook(module, args, output)` after each forward; its result replaces output."""
        return self._hooks.add(hook)

    # Printing.
    def summary(self, input_shape: Any, dtype: Any = float32) -> Summary:
        """Give a table of all modules: name, kind, shape of the output, own parameters; totals.

        input_shape is a whole shape, (N, …), or a tuple of shapes for several inputs; so may dtype
        be a tuple. forward() runs in evaluation mode on lazy zeros: nothing is computed unless it
        reads a value itself, and afterwards the module is as it was.

        >>> from vkml import nn
        >>> print(nn.Sequential(nn.Linear(4, 2), nn.ReLU()).summary((1, 4)))
        layer    kind        output  parameters
        ───────────────────────────────────────
        (whole)  Sequential  (1, 2)           0
        0        Linear      (1, 2)          10
        1        ReLU        (1, 2)           0
        ───────────────────────────────────────
        parameters: 10, of which 10 are trained
        bytes: parameters 40, buffers 0, inputs 16, outputs of layers 16
        """
        return summarise(self, input_shape, dtype)

    def extra_repr(self) -> str:
        """Say what stands between the parentheses of the repr."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        children = [f"({k}): {m!r}".replace("\n", "\n  ") for k, m in self._modules.items()]
        if not children and "\n" not in extra:
            return f"{type(self).__name__}({extra})"
        lines = "\n  ".join([*(extra.split("\n") if extra else []), *children])
        return f"{type(self).__name__}(\n  {lines}\n)"

"""save_module and load_module: the state of a module in a file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vkml.serialize.checkpoint import PathLike, save
from vkml.serialize.contents import opened
from vkml_core.errors import ArgumentError, ArgumentTypeError

if TYPE_CHECKING:
    from vkml_nn.module import Module
    from vkml_nn.state import IncompatibleKeys


def save_module(module: Module, path: PathLike, metadata: Mapping[str, Any] | None = None) -> None:
    """Save `module.state_dict()`: a safetensors file with PyTorch's names."""
    save(_checked(module, "save_module").state_dict(), path, metadata)


def load_module(module: Module, path: PathLike, strict: bool = True) -> IncompatibleKeys:
    """Take the state of a module from a file of `save_module` or PyTorch.

    The file is read and checked as by `vkml.load`, then `module.load_state_dict` checks names and
    shapes; after an error nothing has been changed. Gives the names that did not match.
    """
    checked = _checked(module, "load_module")
    with opened(path, "load_module: path") as contents:
        found = contents.read(lambda values: values)
    if not isinstance(found, Mapping) or not all(hasattr(v, "shape") for v in found.values()):
        raise ArgumentError(
            f"load_module: {path} does not hold tensors by name alone; "
            "use vkml.load and load_state_dict"
        )
    return checked.load_state_dict(found, strict)


def _checked(module: object, what: str) -> Module:
    from vkml_nn.module import Module  # late: `import vkml` does not load nn

    if not isinstance(module, Module):
        raise ArgumentTypeError(f"{what}: expected a Module, got {type(module).__name__}")
    return module
